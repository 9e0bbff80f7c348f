//! All types that a question may touch: those of the repository and of the library, loaded when first named.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;

use repo::{Language, Repository};

use super::class::{Class, ClassId, Home, Members};
use super::glance::glance;
use super::library::Library;
use super::outline::{Import, Outline, TypeOutline};
use super::resolved::Type;
use super::scan::readable;

/// Identifiers from here on are of types that only the question at hand knows.
const TEMPORARY: u32 = 1 << 31;

/// The types of one repository and of the library.
///
/// Types are loaded behind a shared reference: what a type is does not depend on who asks first. Types of an edited
/// text, of local and of anonymous classes last for one question.
pub(super) struct Store<'repository> {
    pub(super) repository: &'repository Repository,
    /// Per package the files that declare its top-level types.
    packages: BTreeMap<String, BTreeMap<String, usize>>,
    classes: RefCell<Vec<Rc<Class>>>,
    library: RefCell<HashMap<(&'static str, &'static str), ClassId>>,
    files: RefCell<HashMap<usize, Rc<FileTypes>>>,
    pub(super) supertypes: RefCell<HashMap<ClassId, Rc<super::inheritance::Supertypes>>>,
    pub(super) scratch: Scratch,
}

/// What lasts for one question.
#[derive(Default)]
pub(super) struct Scratch {
    classes: RefCell<Vec<Rc<Class>>>,
    /// The edited file and its index in the repository, if it has one.
    edited: RefCell<Option<(Option<usize>, Rc<FileTypes>)>>,
    /// Local types in scope at the caret.
    locals: RefCell<Vec<(Rc<str>, ClassId)>>,
    /// The types around the caret, which see the local types.
    pub(super) around: RefCell<Vec<ClassId>>,
    /// The types whose supertypes are being found.
    pub(super) pending: RefCell<Vec<ClassId>>,
    /// How often such a search has come back to itself.
    pub(super) n_loops: Cell<usize>,
    /// How many types the edited text has outside of bodies.
    n_edited: Cell<usize>,
    is_shadowing: Cell<bool>,
}

/// The package, imports and types of one file.
#[derive(Debug, Default)]
pub(super) struct FileTypes {
    pub(super) package: Rc<str>,
    pub(super) imports: Vec<Import>,
    /// All types outside of bodies, each after the one around it.
    pub(super) types: Vec<ClassId>,
    /// The types at the top of the file, by name.
    pub(super) top: Vec<(Rc<str>, ClassId)>,
    /// Whether the text has no syntax error, so that its members are where they seem to be.
    pub(super) is_sound: bool,
}

impl<'repository> Store<'repository> {
    /// Looks at every Java file of the repository, without parsing.
    pub(super) fn new(repository: &'repository Repository) -> Self {
        let mut packages: BTreeMap<String, BTreeMap<String, usize>> = BTreeMap::new();
        for (index, file) in repository.files().iter().enumerate() {
            if file.language == Language::Java {
                let glance = glance(&file.text);
                let types = packages.entry(glance.package).or_default();
                for name in glance.types {
                    types.entry(name).or_insert(index);
                }
            }
        }
        Self {
            repository,
            packages,
            classes: RefCell::default(),
            library: RefCell::default(),
            files: RefCell::default(),
            supertypes: RefCell::default(),
            scratch: Scratch::default(),
        }
    }

    /// Returns a type.
    pub(super) fn class(&self, id: ClassId) -> Rc<Class> {
        match id.0.checked_sub(TEMPORARY) {
            Some(index) => self.scratch.classes.borrow()[index as usize].clone(),
            None => self.classes.borrow()[id.0 as usize].clone(),
        }
    }

    /// Returns whether a type lasts for this question alone.
    pub(super) fn is_temporary(id: ClassId) -> bool {
        id.0 >= TEMPORARY
    }

    /// Returns the types of a file of the repository as the repository has it.
    pub(super) fn file(&self, index: usize) -> Rc<FileTypes> {
        if let Some(file) = self.files.borrow().get(&index) {
            return file.clone();
        }
        let text = &self.repository.files()[index].text;
        let tree = Language::Java.parse(&readable(text));
        let outline = tree.as_ref().map(|tree| Outline::of(tree, text)).unwrap_or_default();
        let mut file = self.install(outline, Home::File(index), None);
        file.is_sound = tree.is_some_and(|tree| !tree.root_node().has_error());
        let file = Rc::new(file);
        self.files.borrow_mut().insert(index, file.clone());
        file
    }

    /// Returns the types of the file that has a type; none for the library.
    pub(super) fn file_of(&self, home: Home) -> Option<Rc<FileTypes>> {
        match home {
            Home::File(index) => Some(self.file(index)),
            Home::Edited => self.scratch.edited.borrow().as_ref().map(|(_, file)| file.clone()),
            Home::Library => None,
        }
    }

    /// Takes an outline in as types.
    fn install(&self, outline: Outline, home: Home, outer: Option<ClassId>) -> FileTypes {
        let is_temporary = home == Home::Edited || outer.is_some();
        let classes = if is_temporary { &self.scratch.classes } else { &self.classes };
        let base = classes.borrow().len() as u32 + if is_temporary { TEMPORARY } else { 0 };
        let id = |index: usize| ClassId(base + index as u32);
        let package: Rc<str> = match outer {
            Some(outer) => self.class(outer).package.clone(),
            None => outline.package.into(),
        };
        let mut file = FileTypes { package, imports: outline.imports, ..FileTypes::default() };
        let mut nested: Vec<Vec<(Rc<str>, ClassId)>> = vec![Vec::new(); outline.types.len()];
        let mut binaries: Vec<Rc<str>> = Vec::new();
        for (index, declared) in outline.types.iter().enumerate() {
            file.types.push(id(index));
            let entry = (declared.name.clone(), id(index));
            match declared.outer {
                Some(outer) => nested[outer].push(entry),
                None => file.top.push(entry),
            }
            let binary = declared.outer.map(|outer| format!("{}${}", binaries[outer], declared.name));
            binaries.push(binary.map_or_else(|| declared.name.clone(), Into::into));
        }
        for (index, (declared, nested)) in outline.types.into_iter().zip(nested).enumerate() {
            let outer = declared.outer.map(id).or(outer);
            let class = class_of(declared, nested, outer, file.package.clone(), binaries[index].clone(), home);
            classes.borrow_mut().push(Rc::new(class));
        }
        file
    }

    /// Takes the place of a file's text until the end of the question.
    pub(super) fn edit(&self, index: Option<usize>, outline: Outline) -> Rc<FileTypes> {
        let file = Rc::new(self.install(outline, Home::Edited, None));
        *self.scratch.edited.borrow_mut() = Some((index, file.clone()));
        self.scratch.is_shadowing.set(true);
        self.scratch.n_edited.set(self.scratch.classes.borrow().len());
        self.supertypes.borrow_mut().clear();
        file
    }

    /// Adds a local or anonymous type within `outer`, until the end of the question.
    pub(super) fn add_local(&self, outline: Outline, outer: ClassId) -> Option<ClassId> {
        let home = self.class(outer).home;
        let file = self.install(outline, home, Some(outer));
        let (name, id) = file.top.first()?.clone();
        if !name.is_empty() {
            self.scratch.locals.borrow_mut().push((name, id));
        }
        Some(id)
    }

    /// Returns the local types in scope at the caret, outermost first.
    pub(super) fn locals(&self) -> Vec<(Rc<str>, ClassId)> {
        self.scratch.locals.borrow().clone()
    }

    /// Returns whether a type is declared in a body.
    pub(super) fn is_local(&self, id: ClassId) -> bool {
        id.0.checked_sub(TEMPORARY).is_some_and(|index| index as usize >= self.scratch.n_edited.get())
    }

    /// Forgets the local types, which belong to one place of a text.
    pub(super) fn forget_locals(&self) {
        if self.scratch.classes.borrow().len() > self.scratch.n_edited.get() {
            self.scratch.classes.borrow_mut().truncate(self.scratch.n_edited.get());
            let n_edited = self.scratch.n_edited.get() as u32;
            self.supertypes.borrow_mut().retain(|id, _| id.0 < TEMPORARY + n_edited);
        }
        self.scratch.locals.borrow_mut().clear();
        self.scratch.around.borrow_mut().clear();
    }

    /// Forgets what was of one question.
    pub(super) fn forget(&self) {
        self.scratch.n_edited.set(0);
        if self.scratch.is_shadowing.take() {
            self.supertypes.borrow_mut().clear();
        } else if !self.scratch.classes.borrow().is_empty() {
            self.supertypes.borrow_mut().retain(|id, _| !Self::is_temporary(*id));
        }
        self.scratch.classes.borrow_mut().clear();
        self.scratch.locals.borrow_mut().clear();
        self.scratch.around.borrow_mut().clear();
        *self.scratch.edited.borrow_mut() = None;
    }

    /// Returns a type of the library by package and binary name.
    pub(super) fn library_class(&self, package: &str, binary: &str) -> Option<ClassId> {
        let library = Library::get();
        let place = library.place_in(package, binary)?;
        if let Some(id) = self.library.borrow().get(&place) {
            return Some(*id);
        }
        let class = library.class(place.0, place.1)?;
        let id = ClassId(self.classes.borrow().len() as u32);
        self.classes.borrow_mut().push(Rc::new(class));
        self.library.borrow_mut().insert(place, id);
        Some(id)
    }

    /// Returns a type of the library without arguments, unknown if there is none.
    pub(super) fn library_type(&self, package: &str, binary: &str) -> Type {
        self.library_class(package, binary).map_or(Type::Unknown, Type::raw)
    }

    /// Returns the top-level type of a package.
    pub(super) fn type_in(&self, package: &str, name: &str) -> Option<ClassId> {
        let in_top = |file: &FileTypes| file.top.iter().find(|(found, _)| &**found == name).map(|(_, id)| *id);
        let edited = self.scratch.edited.borrow().clone();
        let here = edited.as_ref().filter(|(_, file)| &*file.package == package);
        if let Some(id) = here.and_then(|(_, file)| in_top(file)) {
            return Some(id);
        }
        let index = self.packages.get(package).and_then(|types| types.get(name)).copied();
        let is_replaced = edited.is_some_and(|(replaced, _)| replaced.is_some() && replaced == index);
        let found = index.filter(|_| !is_replaced).and_then(|index| in_top(&self.file(index)));
        found.or_else(|| self.library_class(package, name))
    }

    /// Returns the names of the top-level types of a package, in order.
    pub(super) fn names_in<'store>(&'store self, package: &str) -> impl Iterator<Item = &'store str> {
        let own = self.packages.get(package).into_iter().flat_map(|types| types.keys().map(String::as_str));
        let library = Library::get().types(package).map(|name| -> &str { name });
        own.chain(library.filter(|name| !name.contains('$')))
    }

    /// Returns all packages, in order, those of the repository first.
    pub(super) fn packages(&self) -> impl Iterator<Item = &str> {
        self.packages.keys().map(String::as_str).chain(Library::get().packages().map(|name| -> &str { name }))
    }

    /// Returns whether any package has this name or begins with it.
    pub(super) fn has_package(&self, name: &str) -> bool {
        let begins =
            |package: &str| package.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'));
        self.packages().any(begins)
    }

    /// Returns the type that a type declares under a name, not those it inherits.
    pub(super) fn own_nested(&self, id: ClassId, name: &str) -> Option<ClassId> {
        let class = self.class(id);
        if class.home == Home::Library {
            return self.library_class(&class.package, &format!("{}${name}", class.binary));
        }
        class.nested.iter().find(|(found, _)| &**found == name).map(|(_, id)| *id)
    }

    /// Returns the names of the types that a type declares itself.
    pub(super) fn own_nested_names(&self, id: ClassId) -> Vec<Rc<str>> {
        let class = self.class(id);
        if class.home == Home::Library {
            let names = Library::get().nested(&class.package, &class.binary);
            return names.filter(|name| !name.contains('$')).map(Rc::from).collect();
        }
        class.nested.iter().map(|(name, _)| name.clone()).collect()
    }
}

fn class_of(
    declared: TypeOutline,
    nested: Vec<(Rc<str>, ClassId)>,
    outer: Option<ClassId>,
    package: Rc<str>,
    binary: Rc<str>,
    home: Home,
) -> Class {
    Class {
        name: declared.name,
        package,
        binary,
        kind: declared.kind,
        is_static: declared.is_static,
        outer,
        parameters: declared.parameters,
        supers: declared.supers,
        members: Members::new(declared.members),
        nested,
        home,
        name_span: declared.name_span,
        span: declared.span,
    }
}
