//! A real Chromium, driven over the DevTools protocol.
