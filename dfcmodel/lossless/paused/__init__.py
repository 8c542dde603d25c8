"""One paused link: its headroom and components, frames, worst cases, published values."""
