//! What agents can do beyond files and a shell: read documents, pages and pictures, draw canvases and charts, use a
//! browser. Each room takes bytes, text or an address and gives bytes or text; none of them knows of agents, runs,
//! permissions or where files may lie. `fugato-runtime` opens and writes files for them, inside the project.

pub mod browser;
pub mod canvas;
pub mod chart;
pub mod office;
pub mod picture;
pub mod web;
