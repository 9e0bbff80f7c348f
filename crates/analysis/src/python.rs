//! Python: type inference by ty's published crates, behind our own layer of names.
