//! How functions, classes and values are declared, in one line each and without bodies.

use ruff_db::parsed::{ParsedModuleRef, parsed_module};
use ruff_db::source::{SourceText, source_text};
use ruff_python_ast::find_node::covering_node;
use ruff_python_ast::token::TokenKind;
use ruff_python_ast::{AnyNodeRef, Decorator, StmtClassDef, StmtFunctionDef};
use ruff_text_size::{Ranged, TextRange, TextSize};
use ty_python_core::ProgramFile;
use ty_python_core::definition::{Definition as Binding, DefinitionKind};
use ty_python_semantic::types::Type;
use ty_python_semantic::{HasType, SemanticModel};

use super::{spell, spelling};
use crate::python::database::Database;

/// The longest line of a declaration, in bytes; a longer one ends with `...`.
const LINE_BYTES_MAX: usize = 2_000;

/// A file whose declarations are read.
pub(in crate::python) struct Source<'db> {
    pub(in crate::python) db: &'db Database,
    pub(in crate::python) file: ProgramFile<'db>,
    pub(in crate::python) module: ParsedModuleRef,
    text: SourceText,
}

impl<'db> Source<'db> {
    /// Reads `file`.
    pub(in crate::python) fn new(db: &'db Database, file: ProgramFile<'db>) -> Self {
        let module = parsed_module(db, file.python_file(db)).load(db);
        Self { db, file, module, text: source_text(db, file.file(db)) }
    }

    /// Returns ty's interface to the file.
    pub(in crate::python) fn model(&self) -> SemanticModel<'db> {
        SemanticModel::new(self.db, self.file)
    }

    /// Returns the `def` line of a function without its colon, declared as `name`.
    pub(in crate::python) fn function(&self, function: &StmtFunctionDef, name: &str) -> String {
        let start = after(&function.decorator_list, function.start());
        let end = function.returns.as_ref().map_or(function.parameters.end(), |returns| returns.end());
        let before = self.line(TextRange::new(start, function.name.start().max(start)));
        let after = self.line(TextRange::new(function.name.end(), end.max(function.name.end())));
        format!("{before} {name}{after}")
    }

    /// Returns the `class` line of a class without its colon, declared as `name`.
    pub(in crate::python) fn class(&self, class: &StmtClassDef, name: &str) -> String {
        let parameters = class.type_params.as_ref().map(|parameters| parameters.end());
        let end = class.arguments.as_ref().map(|arguments| arguments.end()).or(parameters);
        let start = class.name.end();
        format!("class {name}{}", self.line(TextRange::new(start, end.unwrap_or(start).max(start))))
    }

    /// Returns how a name is bound: with its annotation, else with the inferred type, else the name alone.
    pub(in crate::python) fn value(&self, binding: Binding<'db>, name: &str) -> String {
        match self.type_of(binding) {
            Some(spelled) => format!("{name}: {spelled}"),
            None => name.to_owned(),
        }
    }

    /// Returns the type of a bound name: its annotation as written, else the inferred type.
    pub(in crate::python) fn type_of(&self, binding: Binding<'db>) -> Option<String> {
        if let DefinitionKind::AnnotatedAssignment(assignment) = binding.kind(self.db) {
            return Some(self.line(assignment.annotation(&self.module).range()));
        }
        let model = self.model();
        spell(&model, self.inferred(binding)?).map(|spelled| spelling::widen(&spelled))
    }

    /// Returns the type of what an annotation declares, or else of what is bound.
    pub(in crate::python) fn inferred(&self, binding: Binding<'db>) -> Option<Type<'db>> {
        let model = self.model();
        if let DefinitionKind::AnnotatedAssignment(assignment) = binding.kind(self.db) {
            return assignment.annotation(&self.module).inferred_type(&model);
        }
        let target = binding.kind(self.db).target_range(&self.module);
        let root = AnyNodeRef::from(self.module.syntax());
        let covering = root.range().contains_range(target).then(|| covering_node(root, target))?;
        covering.node().as_expr_ref()?.inferred_type(&model)
    }

    /// Returns the code in `range` on one line, without comments.
    pub(in crate::python) fn line(&self, range: TextRange) -> String {
        let tokens = self.module.tokens();
        let first = tokens.partition_point(|token| token.start() < range.start());
        let within = tokens[first..].iter().take_while(|token| token.end() <= range.end());
        let mut line = String::new();
        let mut end: Option<TextSize> = None;
        for token in within.filter(|token| !token.kind().is_trivia() && !token.range().is_empty()) {
            if token.kind().is_any_newline() {
                continue;
            }
            let closes = matches!(token.kind(), TokenKind::Rpar | TokenKind::Rsqb | TokenKind::Rbrace);
            let apart = end.is_some_and(|end| end < token.start());
            // A comma before a bracket on a line of its own.
            if closes && apart && line.ends_with(',') {
                line.pop();
            }
            if apart && !closes && token.kind() != TokenKind::Comma && !line.ends_with(['(', '[', '{']) {
                line.push(' ');
            }
            if line.len() + token.range().len().to_usize() > LINE_BYTES_MAX {
                line.push_str("...");
                break;
            }
            line.push_str(self.text.as_str().get(token.range().to_std_range()).unwrap_or_default());
            end = Some(token.end());
        }
        line
    }
}

/// Returns the start of the line that decorators stand before.
fn after(decorators: &[Decorator], start: TextSize) -> TextSize {
    decorators.last().map_or(start, Ranged::end)
}
