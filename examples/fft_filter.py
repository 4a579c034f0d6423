"""A noisy wave, of which only the low frequencies are kept."""
import numjet.numpy as jnp


def run():
    t = jnp.arange(64) / 64
    signal = jnp.sin(2 * jnp.pi * 3 * t) + 0.3 * jnp.sin(2 * jnp.pi * 20 * t)
    spectrum = jnp.fft.rfft(signal)
    smooth = jnp.fft.irfft(jnp.where(jnp.arange(spectrum.size) < 8, spectrum, 0))
    return {"strengths": jnp.abs(spectrum)[:24], "smooth": smooth[::8], "energy": jnp.sum(jnp.abs(jnp.fft.fft(signal)) ** 2)}


if __name__ == "__main__":
    for name, value in run().items():
        print(name, value, sep=" = ")
