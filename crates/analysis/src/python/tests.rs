//! Small repositories and what the engine says of them.
