"""Arrays, devices, dispatch: what runs programs."""
