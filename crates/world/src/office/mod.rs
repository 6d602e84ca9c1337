//! Text and tables from documents and pictures.
