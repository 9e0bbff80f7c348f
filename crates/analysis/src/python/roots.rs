//! What an expression can be, where ty does not say: classes, modules and functions found by reading the code.
//!
//! ty infers nothing for a call of a function without annotated result, for a parameter without annotation, or in code
//! that cannot be reached. What such a function returns, and what its callers pass, can still be read.

use ruff_db::parsed::{ParsedModuleRef, parsed_module};
use ruff_python_ast::{self as ast, Expr, ExprRef, Stmt};
use ty_module_resolver::{ImportingFile, Module, file_to_module, resolve_module};
use ty_python_core::definition::{Definition, DefinitionKind};
use ty_python_core::scope::FileScopeId;
use ty_python_core::{ProgramFile, semantic_index};
use ty_python_semantic::types::ide_support::definitions_for_name;
use ty_python_semantic::types::{ProgramEnvironment, Type};
use ty_python_semantic::{Db, HasType, ImportAliasResolution, ResolvedDefinition, SemanticModel};

use super::callers;
use super::database::Database;
use super::members::{self, Receiver};

/// How many steps an expression is followed.
const STEPS_MAX: usize = 8;

/// How many expressions are looked at for one question.
const EXPRESSIONS_MAX: usize = 200;

/// What an expression can be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Root<'db> {
    /// A class or an object of it.
    Class(Definition<'db>, Receiver),
    /// A module.
    Module(Module<'db>),
    /// A function, with its first parameter filled where it is a method.
    Function(Definition<'db>, bool),
}

/// Follows expressions to what they can be.
pub(super) struct Search<'db> {
    pub(super) db: &'db Database,
    n_left: usize,
    /// Functions and parameters being followed, lest one lead to itself.
    open: Vec<Definition<'db>>,
}

impl<'db> Search<'db> {
    /// Starts a search.
    pub(super) fn new(db: &'db Database) -> Self {
        Self { db, n_left: EXPRESSIONS_MAX, open: Vec::new() }
    }

    /// Returns what `expression` of `file` can be, each once, as found.
    pub(super) fn roots(&mut self, file: ProgramFile<'db>, expression: &Expr) -> Vec<Root<'db>> {
        let mut roots = Vec::new();
        if self.n_left == 0 || self.open.len() > STEPS_MAX {
            return roots;
        }
        self.n_left -= 1;
        let scope = semantic_index(self.db, file).try_expression_scope_id(&ExprRef::from(expression));
        if let Some(class) = super_class(self.db, file, expression, scope) {
            return members::bases(self.db, class).iter().map(|base| Root::Class(*base, Receiver::Object)).collect();
        }
        if let Some(ty) = expression.inferred_type(&SemanticModel::new(self.db, file)) {
            self.add_type(file, scope, ty, &mut roots);
        }
        if roots.is_empty() {
            self.follow(file, expression, &mut roots);
        }
        distinct(roots)
    }

    /// Adds what a value of type `ty` is.
    fn add_type(&self, file: ProgramFile<'db>, scope: Option<FileScopeId>, ty: Type<'db>, roots: &mut Vec<Root<'db>>) {
        let mut open = vec![ty];
        while let Some(ty) = open.pop() {
            let receiver = match ty {
                Type::Union(union) => {
                    open.extend(union.elements(self.db));
                    continue;
                }
                Type::Intersection(intersection) => {
                    open.extend(intersection.iter_positive(self.db));
                    continue;
                }
                Type::TypeAlias(alias) => {
                    open.push(alias.value_type(self.db));
                    continue;
                }
                Type::ModuleLiteral(module) => {
                    roots.push(Root::Module(module.module(self.db)));
                    continue;
                }
                Type::TypeVar(_) => Receiver::Object,
                Type::NominalInstance(_) if ty.is_none(self.db) => continue,
                Type::NominalInstance(_) | Type::LiteralValue(_) | Type::ProtocolInstance(_) | Type::TypedDict(_) => {
                    Receiver::Object
                }
                Type::ClassLiteral(_) | Type::GenericAlias(_) | Type::SubclassOf(_) => Receiver::Class,
                Type::FunctionLiteral(_) | Type::BoundMethod(_) => Receiver::Object,
                _ => continue,
            };
            let env = ProgramEnvironment::from_file(file);
            let definition = ty.definition(self.db, &env).and_then(|definition| definition.definition().copied());
            match definition.map(|definition| (definition, definition.kind(self.db))) {
                Some((class, DefinitionKind::Class(_))) => roots.push(Root::Class(class, receiver)),
                Some((function, DefinitionKind::Function(_))) => {
                    roots.push(Root::Function(function, matches!(ty, Type::BoundMethod(_))));
                }
                _ if matches!(ty, Type::TypeVar(_) | Type::SubclassOf(_)) => {
                    let class = scope.and_then(|scope| members::class_around(self.db, file, scope));
                    roots.extend(class.map(|class| Root::Class(class, receiver)));
                }
                _ => {}
            }
        }
    }

    /// Reads what ty does not infer.
    fn follow(&mut self, file: ProgramFile<'db>, expression: &Expr, roots: &mut Vec<Root<'db>>) {
        match expression {
            Expr::Name(name) => {
                let model = SemanticModel::new(self.db, file);
                let resolve = ImportAliasResolution::ResolveAliases;
                for definition in definitions_for_name(&model, name.id.as_str(), name.into(), resolve) {
                    self.add_resolved(&definition, roots);
                }
            }
            Expr::Attribute(attribute) => {
                for root in self.roots(file, &attribute.value) {
                    self.add_member(file, root, attribute.attr.as_str(), roots);
                }
            }
            Expr::Call(call) => {
                for root in self.roots(file, &call.func) {
                    match root {
                        Root::Class(class, Receiver::Class) => roots.push(Root::Class(class, Receiver::Object)),
                        Root::Function(function, _) => self.add_result(function, roots),
                        _ => {}
                    }
                }
            }
            Expr::Await(inner) => roots.extend(self.roots(file, &inner.value)),
            Expr::Named(inner) => roots.extend(self.roots(file, &inner.value)),
            Expr::If(inner) => {
                roots.extend(self.roots(file, &inner.body));
                roots.extend(self.roots(file, &inner.orelse));
            }
            Expr::BoolOp(inner) => {
                for value in &inner.values {
                    roots.extend(self.roots(file, value));
                }
            }
            _ => {}
        }
    }

    fn add_resolved(&mut self, definition: &ResolvedDefinition<'db>, roots: &mut Vec<Root<'db>>) {
        match definition {
            ResolvedDefinition::Definition(definition) => self.add_definition(*definition, roots),
            ResolvedDefinition::Module(file) => {
                roots.extend(file_to_module(self.db, file.resolver_file(self.db)).map(Root::Module));
            }
            ResolvedDefinition::FileWithRange(_) => {}
        }
    }

    fn add_definition(&mut self, definition: Definition<'db>, roots: &mut Vec<Root<'db>>) {
        if self.open.contains(&definition) {
            return;
        }
        self.open.push(definition);
        let file = definition.program_file(self.db);
        let module = parsed_module(self.db, file.python_file(self.db)).load(self.db);
        match definition.kind(self.db) {
            DefinitionKind::Class(_) => roots.push(Root::Class(definition, Receiver::Class)),
            DefinitionKind::Function(_) => roots.push(Root::Function(definition, false)),
            DefinitionKind::Assignment(assignment) if assignment.unpack().is_none() => {
                roots.extend(self.roots(file, assignment.value(&module)));
            }
            DefinitionKind::AnnotatedAssignment(assignment) => {
                roots.extend(self.roots(file, assignment.annotation(&module)));
            }
            DefinitionKind::NamedExpression(named) => roots.extend(self.roots(file, &named.node(&module).value)),
            DefinitionKind::WithItem(item) => roots.extend(self.roots(file, item.context_expr(&module))),
            DefinitionKind::Parameter(_) => {
                for (file, argument) in callers::arguments(self, definition) {
                    roots.extend(self.roots(file, &argument));
                }
            }
            _ => {}
        }
        self.open.pop();
    }

    /// Adds what the member `name` of `root` is.
    fn add_member(&mut self, file: ProgramFile<'db>, root: Root<'db>, name: &str, roots: &mut Vec<Root<'db>>) {
        match root {
            Root::Class(class, receiver) => {
                for definition in members::definitions(self.db, class, name) {
                    if is_property(self.db, definition) {
                        self.add_result(definition, roots);
                    } else if matches!(definition.kind(self.db), DefinitionKind::Function(_)) {
                        roots.push(Root::Function(definition, receiver == Receiver::Object));
                    } else {
                        self.add_definition(definition, roots);
                    }
                }
            }
            Root::Module(module) => {
                let importing = ImportingFile::File(file.file(self.db), file.resolver_environment(self.db));
                if let Some(own) = module.file(self.db).map(|own| file.program(self.db).program_file(self.db, own)) {
                    for definition in members::module_definitions(self.db, own, name) {
                        self.add_resolved(&definition, roots);
                    }
                }
                let submodule = ty_module_resolver::ModuleName::new(&format!("{}.{name}", module.name(self.db)));
                let submodule = submodule.and_then(|name| resolve_module(self.db, importing, &name));
                roots.extend(submodule.map(Root::Module));
            }
            Root::Function(..) => {}
        }
    }

    /// Adds what a call of `function` can be.
    fn add_result(&mut self, function: Definition<'db>, roots: &mut Vec<Root<'db>>) {
        let DefinitionKind::Function(node) = function.kind(self.db) else { return };
        if self.open.contains(&function) {
            return;
        }
        self.open.push(function);
        let file = function.program_file(self.db);
        let module: ParsedModuleRef = parsed_module(self.db, file.python_file(self.db)).load(self.db);
        let node = node.node(&module);
        match &node.returns {
            Some(returns) => roots.extend(self.roots(file, returns)),
            None => {
                for value in returned(&node.body) {
                    roots.extend(self.roots(file, value));
                }
            }
        }
        self.open.pop();
    }
}

fn distinct(roots: Vec<Root<'_>>) -> Vec<Root<'_>> {
    let mut seen: Vec<Root<'_>> = Vec::with_capacity(roots.len());
    for root in roots {
        if !seen.contains(&root) {
            seen.push(root);
        }
    }
    seen
}

/// Returns the class around a call of `super`.
fn super_class<'db>(
    db: &'db Database,
    file: ProgramFile<'db>,
    expression: &Expr,
    scope: Option<FileScopeId>,
) -> Option<Definition<'db>> {
    let is_super = expression.as_call_expr()?.func.as_name_expr().is_some_and(|name| name.id.as_str() == "super");
    is_super.then(|| members::class_around(db, file, scope?)).flatten()
}

/// Returns whether reading the member calls the function.
fn is_property(db: &Database, definition: Definition<'_>) -> bool {
    let DefinitionKind::Function(node) = definition.kind(db) else { return false };
    let module = parsed_module(db, definition.python_file(db)).load(db);
    node.node(&module).decorator_list.iter().any(|decorator| {
        let name = match &decorator.expression {
            Expr::Name(name) => name.id.as_str(),
            Expr::Attribute(attribute) => attribute.attr.as_str(),
            _ => "",
        };
        name.ends_with("property")
    })
}

/// Returns the values that a function's own `return` statements give.
fn returned(body: &[Stmt]) -> Vec<&Expr> {
    let mut open: Vec<&[Stmt]> = vec![body];
    let mut values = Vec::new();
    while let Some(statements) = open.pop() {
        for statement in statements {
            match statement {
                Stmt::Return(ast::StmtReturn { value: Some(value), .. }) => values.push(&**value),
                Stmt::If(inner) => {
                    open.push(&inner.body);
                    open.extend(inner.elif_else_clauses.iter().map(|clause| &*clause.body));
                }
                Stmt::For(inner) => open.extend([&*inner.body, &*inner.orelse]),
                Stmt::While(inner) => open.extend([&*inner.body, &*inner.orelse]),
                Stmt::With(inner) => open.push(&inner.body),
                Stmt::Match(inner) => open.extend(inner.cases.iter().map(|case| &*case.body)),
                Stmt::Try(inner) => {
                    open.extend([&*inner.body, &*inner.orelse, &*inner.finalbody]);
                    let handlers = inner.handlers.iter();
                    open.extend(handlers.map(|ast::ExceptHandler::ExceptHandler(handler)| &*handler.body));
                }
                _ => {}
            }
        }
    }
    values
}
