//! Pages fetched and searched for.
