//! Trigger insertion: `<COMP>` before each identifier that the completion tool knows (`ToolGen`, Algorithm 1).
