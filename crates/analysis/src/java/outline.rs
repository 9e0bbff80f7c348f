//! What a text declares outside of bodies: package, imports, types and their members.

use std::ops::Range;
use std::rc::Rc;

use repo::syntax::Preorder;
use tree_sitter::{Node, Tree};

use super::class::{Access, ClassKind, Member, MemberKind, Parameter, TypeParameter};
use super::signature::{formal_parameters, modifiers_of, name_of_parameter, type_parameters};
use super::written::{Written, n_dimensions};

/// An import as written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Import {
    /// The dotted path, without the final `*`.
    pub(super) path: Rc<str>,
    pub(super) is_static: bool,
    pub(super) is_on_demand: bool,
}

impl Import {
    /// Returns the name that the import binds, unless it binds many.
    pub(super) fn binding(&self) -> Option<&str> {
        if self.is_on_demand { None } else { self.path.rsplit('.').next() }
    }
}

/// The declarations of one text.
#[derive(Debug, Default)]
pub(super) struct Outline {
    pub(super) package: String,
    pub(super) imports: Vec<Import>,
    /// Each type after the one that it is declared in.
    pub(super) types: Vec<TypeOutline>,
}

/// One type declaration.
#[derive(Debug)]
pub(super) struct TypeOutline {
    /// The simple name; empty for an anonymous class.
    pub(super) name: Rc<str>,
    pub(super) kind: ClassKind,
    pub(super) is_static: bool,
    /// The index of the type around it.
    pub(super) outer: Option<usize>,
    pub(super) parameters: Vec<TypeParameter>,
    pub(super) supers: Vec<Written>,
    pub(super) members: Vec<Member>,
    pub(super) name_span: Range<usize>,
    pub(super) span: Range<usize>,
}

impl Outline {
    /// Reads the declarations of a whole text.
    pub(super) fn of(tree: &Tree, text: &str) -> Self {
        let mut reader = Reader { outline: Self::default(), text, open: Vec::new() };
        reader.read(Preorder::new(tree));
        reader.outline
    }

    /// Reads the declarations of a type whose `body` is in a function: a local class, or an anonymous one, which has no
    /// `declaration` but extends or implements `parent`.
    pub(super) fn of_body(declaration: Option<Node<'_>>, body: Node<'_>, parent: Option<Written>, text: &str) -> Self {
        let mut reader = Reader { outline: Self::default(), text, open: Vec::new() };
        if let Some(declaration) = declaration {
            reader.open_type(declaration, 0);
        } else {
            let mut anonymous = TypeOutline::new(ClassKind::Class);
            anonymous.supers = parent.into_iter().collect();
            anonymous.span = body.byte_range();
            reader.outline.types.push(anonymous);
            reader.open.push((0, 0));
        }
        reader.read_body(body);
        reader.outline
    }
}

impl TypeOutline {
    fn new(kind: ClassKind) -> Self {
        Self {
            name: "".into(),
            kind,
            is_static: false,
            outer: None,
            parameters: Vec::new(),
            supers: Vec::new(),
            members: Vec::new(),
            name_span: 0..0,
            span: 0..0,
        }
    }
}

/// Returns the kind of type that a node declares.
pub(super) fn declared_kind(kind: &str) -> Option<ClassKind> {
    Some(match kind {
        "class_declaration" => ClassKind::Class,
        "interface_declaration" => ClassKind::Interface,
        "enum_declaration" => ClassKind::Enum,
        "record_declaration" => ClassKind::Record,
        "annotation_type_declaration" => ClassKind::Annotation,
        _ => return None,
    })
}

struct Reader<'text> {
    outline: Outline,
    text: &'text str,
    /// Depth in the tree and index of the types around the node at hand.
    open: Vec<(usize, usize)>,
}

impl<'text> Reader<'text> {
    fn text(&self, node: Node<'_>) -> &'text str {
        self.text.get(node.byte_range()).unwrap_or_default()
    }

    fn read(&mut self, mut walk: Preorder<'_>) {
        while let Some(node) = walk.next() {
            let depth = walk.depth();
            while self.open.last().is_some_and(|(opened, _)| *opened >= depth) {
                self.open.pop();
            }
            if !self.visit(node, depth) {
                walk.skip_children();
            }
        }
    }

    /// Reads the members of a body within a larger tree: a walk that begins at the root finds it by its bytes.
    fn read_body(&mut self, body: Node<'_>) {
        let mut cursor = body.walk();
        // Depths count from the body; the type that owns it is at 0.
        let mut depth = 1;
        if !cursor.goto_first_child() {
            return;
        }
        loop {
            while self.open.last().is_some_and(|(opened, _)| *opened >= depth && *opened > 0) {
                self.open.pop();
            }
            if self.visit(cursor.node(), depth) && cursor.goto_first_child() {
                depth += 1;
                continue;
            }
            while !cursor.goto_next_sibling() {
                depth -= 1;
                if depth == 0 || !cursor.goto_parent() {
                    return;
                }
            }
        }
    }

    /// Takes what a node declares; returns whether its children may declare more.
    fn visit(&mut self, node: Node<'_>, depth: usize) -> bool {
        match node.kind() {
            "package_declaration" => {
                self.outline.package = self.dotted(node);
                false
            }
            "import_declaration" => {
                self.import(node);
                false
            }
            "method_declaration" | "annotation_type_element_declaration" => self.method(node, MemberKind::Method),
            "constructor_declaration" | "compact_constructor_declaration" => self.method(node, MemberKind::Constructor),
            "field_declaration" | "constant_declaration" => self.fields(node),
            "enum_constant" => self.enum_constant(node),
            "block" | "static_initializer" => {
                let mut member = Member::new("", MemberKind::Initializer, Written::default());
                member.is_static = node.kind() == "static_initializer";
                self.add(member, None, node)
            }
            kind if declared_kind(kind).is_some() => {
                self.open_type(node, depth);
                true
            }
            "class_body"
            | "interface_body"
            | "enum_body"
            | "enum_body_declarations"
            | "annotation_type_body"
            | "program"
            | "ERROR" => true,
            _ => false,
        }
    }

    fn dotted(&self, node: Node<'_>) -> String {
        let mut cursor = node.walk();
        let is_name = |child: &Node<'_>| matches!(child.kind(), "identifier" | "scoped_identifier");
        let name = node.named_children(&mut cursor).find(is_name);
        name.map(|name| self.text(name).split_whitespace().collect()).unwrap_or_default()
    }

    fn import(&mut self, node: Node<'_>) {
        let mut cursor = node.walk();
        let (mut is_static, mut is_on_demand) = (false, false);
        for child in node.children(&mut cursor) {
            is_static |= child.kind() == "static";
            is_on_demand |= child.kind() == "asterisk";
        }
        let path = self.dotted(node).into();
        self.outline.imports.push(Import { path, is_static, is_on_demand });
    }

    fn open_type(&mut self, node: Node<'_>, depth: usize) {
        let Some(kind) = declared_kind(node.kind()) else { return };
        let outer = self.open.last().map(|(_, index)| *index);
        let mut declared = TypeOutline::new(kind);
        if let Some(name) = node.child_by_field_name("name") {
            (declared.name, declared.name_span) = (self.text(name).into(), name.byte_range());
        }
        let modifiers = modifiers_of(node);
        let in_interface = outer.is_some_and(|outer| self.outline.types[outer].kind.is_interface());
        declared.is_static = modifiers.is_static || kind != ClassKind::Class || in_interface;
        declared.outer = outer;
        declared.span = node.byte_range();
        declared.parameters = type_parameters(node, self.text);
        declared.supers = self.supers(node, kind, &declared.name);
        if kind == ClassKind::Enum {
            declared.members = enum_members(&declared.name);
        }
        self.outline.types.push(declared);
        self.open.push((depth, self.outline.types.len() - 1));
        if let Some(parameters) = node.child_by_field_name("parameters") {
            self.record_components(parameters);
        }
    }

    fn supers(&self, node: Node<'_>, kind: ClassKind, name: &str) -> Vec<Written> {
        let mut supers = Vec::new();
        let mut cursor = node.walk();
        for child in node.children(&mut cursor) {
            if !matches!(child.kind(), "superclass" | "super_interfaces" | "extends_interfaces") {
                continue;
            }
            let mut inner = child.walk();
            let list = child.named_children(&mut inner).find(|child| child.kind() == "type_list").unwrap_or(child);
            let mut inner = list.walk();
            supers.extend(list.named_children(&mut inner).map(|written| Written::of(written, self.text)));
        }
        let parent = match kind {
            ClassKind::Class if node.child_by_field_name("superclass").is_none() => Written::named("java.lang.Object"),
            ClassKind::Enum => Written { arguments: vec![Written::named(name)], ..Written::named("java.lang.Enum") },
            ClassKind::Record => Written::named("java.lang.Record"),
            ClassKind::Annotation => Written::named("java.lang.annotation.Annotation"),
            _ => return supers,
        };
        supers.insert(0, parent);
        supers
    }

    fn record_components(&mut self, parameters: Node<'_>) {
        let (components, is_variadic) = formal_parameters(parameters, self.text);
        let mut cursor = parameters.walk();
        for (child, component) in parameters.named_children(&mut cursor).zip(&components) {
            for kind in [MemberKind::Field, MemberKind::Method] {
                let mut member = Member::new(&component.name, kind, component.written.clone());
                if kind == MemberKind::Field {
                    member.access = Access::Private;
                }
                member.name_span = name_of_parameter(child).map_or(0..0, |name| name.byte_range());
                self.push(member);
            }
        }
        let mut member = Member::new("", MemberKind::Constructor, Written::default());
        (member.parameters, member.is_variadic) = (components, is_variadic);
        self.push(member);
    }

    fn method(&mut self, node: Node<'_>, kind: MemberKind) -> bool {
        let written = node.child_by_field_name("type").map(|written| Written::of(written, self.text));
        let written = written.unwrap_or_default().with_dimensions(n_dimensions(node, self.text));
        let mut member = Member::new("", kind, written);
        if let Some(parameters) = node.child_by_field_name("parameters") {
            (member.parameters, member.is_variadic) = formal_parameters(parameters, self.text);
        }
        member.type_parameters = type_parameters(node, self.text);
        let name = node.child_by_field_name("name");
        if node.kind() == "compact_constructor_declaration" {
            // The parameters are those of the record.
            member.kind = MemberKind::Initializer;
        }
        member.is_abstract = node.child_by_field_name("body").is_none();
        self.add(member, name, node)
    }

    fn fields(&mut self, node: Node<'_>) -> bool {
        let written = node.child_by_field_name("type").map(|written| Written::of(written, self.text));
        let written = written.unwrap_or_default();
        let mut cursor = node.walk();
        for declarator in node.children_by_field_name("declarator", &mut cursor) {
            let written = written.clone().with_dimensions(n_dimensions(declarator, self.text));
            let member = Member::new("", MemberKind::Field, written);
            self.add(member, declarator.child_by_field_name("name"), node);
        }
        false
    }

    fn enum_constant(&mut self, node: Node<'_>) -> bool {
        let Some((_, owner)) = self.open.last() else { return false };
        let written = Written::named(&self.outline.types[*owner].name);
        self.add(Member::new("", MemberKind::EnumConstant, written), node.child_by_field_name("name"), node)
    }

    /// Adds a member with the name and modifiers of its declaration.
    fn add(&mut self, mut member: Member, name: Option<Node<'_>>, declaration: Node<'_>) -> bool {
        let Some((_, owner)) = self.open.last() else { return false };
        let in_interface = self.outline.types[*owner].kind.is_interface();
        let modifiers = modifiers_of(declaration);
        if let Some(name) = name {
            (member.name, member.name_span) = (self.text(name).into(), name.byte_range());
        }
        if matches!(member.kind, MemberKind::Constructor | MemberKind::Initializer) {
            member.name = "".into();
        }
        member.is_static |= modifiers.is_static
            || member.kind == MemberKind::EnumConstant
            || in_interface && member.kind == MemberKind::Field;
        member.access = match modifiers.access {
            Access::Package if in_interface || member.kind == MemberKind::EnumConstant => Access::Public,
            access => access,
        };
        member.span = declaration.byte_range();
        self.push(member);
        false
    }

    fn push(&mut self, member: Member) {
        if let Some((_, owner)) = self.open.last() {
            self.outline.types[*owner].members.push(member);
        }
    }
}

/// What every enum has beside its constants.
fn enum_members(name: &str) -> Vec<Member> {
    let mut values = Member::new("values", MemberKind::Method, Written::named(name).with_dimensions(1));
    let mut value_of = Member::new("valueOf", MemberKind::Method, Written::named(name));
    value_of.parameters = vec![Parameter { name: "name".into(), written: Written::named("java.lang.String") }];
    (values.is_static, value_of.is_static) = (true, true);
    vec![values, value_of]
}
