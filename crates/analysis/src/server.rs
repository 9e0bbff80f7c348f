//! Tools of other people behind the same trait: a Jedi worker and a client of language servers.
