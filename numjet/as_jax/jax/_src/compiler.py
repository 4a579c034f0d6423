"""The compiler's entrance, of which numjet has none that programs could replace: a module without names."""
