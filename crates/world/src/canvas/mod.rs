//! JSON Canvas files: read, changed node by node, laid out, made from text.
