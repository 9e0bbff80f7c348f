//! How a server is started and set up, and what it asks and says by itself.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::time::Instant;

use repo::{Language, Repository};
use serde_json::{Value, json};

use super::diagnostic::Published;
use crate::position::Unit;
use crate::server::Limits;
use crate::server::connection::{Connection, Fault, Listener};
use crate::server::sandbox::{OWN_FOLDER, Program};

/// The most documents whose diagnostics are kept, whatever a server publishes.
const PUBLISHED_MAX: usize = 10_000;

/// What a server said about itself.
#[derive(Debug, Clone, Copy)]
pub(super) struct Server {
    /// The unit of its columns.
    pub(super) unit: Unit,
    /// Diagnostics can be asked for.
    pub(super) gives_diagnostics: bool,
}

impl Default for Server {
    fn default() -> Self {
        Self { unit: Unit::Utf16, gives_diagnostics: false }
    }
}

/// Hears what a server says, and answers what it asks.
#[derive(Debug)]
pub(super) struct Ears {
    settings: Value,
    published: BTreeMap<String, Published>,
    /// How often diagnostics were published.
    pub(super) n_published: u64,
    /// The last `language/status`, which jdtls alone sends.
    status: Option<String>,
}

impl Ears {
    pub(super) fn new(settings: Value) -> Self {
        Self { settings, published: BTreeMap::new(), n_published: 0, status: None }
    }

    /// Forgets what an earlier process said.
    pub(super) fn begin(&mut self) {
        self.published.clear();
        self.status = None;
    }

    pub(super) fn forget_diagnostics(&mut self, uri: &str) {
        self.published.remove(&super::uri::normalized(uri));
    }

    /// Returns the diagnostics of a version of a document, if they were published.
    pub(super) fn diagnostics(&self, uri: &str, version: i64) -> Option<&Published> {
        let published = self.published.get(&super::uri::normalized(uri))?;
        (!published.is_versioned || published.version >= version).then_some(published)
    }
}

impl Listener for Ears {
    fn notified(&mut self, method: &str, parameters: &Value) {
        let text = |key: &str| parameters.get(key).and_then(Value::as_str);
        match method {
            "textDocument/publishDiagnostics" => {
                self.n_published += 1;
                let uri = super::uri::normalized(text("uri").unwrap_or_default());
                if self.published.len() < PUBLISHED_MAX || self.published.contains_key(&uri) {
                    self.published.insert(uri, Published::new(parameters));
                }
            }
            "language/status" => self.status = text("type").map(str::to_owned),
            _ => {}
        }
    }

    fn asked(&mut self, method: &str, parameters: &Value) -> Option<Value> {
        match method {
            "workspace/configuration" => {
                let items = parameters.get("items").and_then(Value::as_array);
                let section = |item: &Value| item.get("section").and_then(Value::as_str).unwrap_or_default().to_owned();
                let settings = |item: &Value| configured(&self.settings, &section(item));
                Some(items.map(|items| items.iter().map(settings).collect()).unwrap_or_default())
            }
            "client/registerCapability" | "client/unregisterCapability" | "window/workDoneProgress/create" => {
                Some(Value::Null)
            }
            "window/showMessageRequest" | "workspace/workspaceFolders" => Some(Value::Null),
            "workspace/applyEdit" => Some(json!({"applied": false})),
            _ => None,
        }
    }
}

/// Returns the settings of a dotted section.
fn configured(settings: &Value, section: &str) -> Value {
    let mut value = settings;
    for key in section.split('.').filter(|key| !key.is_empty()) {
        match value.get(key) {
            Some(inner) => value = inner,
            None => return Value::Null,
        }
    }
    value.clone()
}

/// Opens the conversation, and waits until the server can answer.
pub(super) fn shake<W: Write>(
    connection: &mut Connection<W>,
    deadline: Instant,
    ears: &mut Ears,
    root: &str,
) -> Result<Server, Fault> {
    let answer = connection.request("initialize", initialize(root, &ears.settings), deadline, ears)?;
    let capabilities = answer.get("capabilities").unwrap_or(&Value::Null);
    let encoding = capabilities.get("positionEncoding").and_then(Value::as_str);
    let unit = match encoding {
        None | Some("utf-16") => Unit::Utf16,
        Some("utf-32") => Unit::Character,
        Some(other) => return Err(Fault::Garbage(format!("with the position encoding `{other}`"))),
    };
    connection.notify("initialized", json!({}))?;
    connection.notify("workspace/didChangeConfiguration", json!({"settings": ears.settings}))?;
    // jdtls answers before it has read the project, but tells when it is done.
    if ears.status.is_some() {
        connection.listen(deadline, ears, |ears| ears.status.as_deref() == Some("ServiceReady"))?;
    }
    let gives_diagnostics = capabilities.get("diagnosticProvider").is_some_and(|provider| !provider.is_null());
    Ok(Server { unit, gives_diagnostics })
}

fn initialize(root: &str, settings: &Value) -> Value {
    json!({
        "processId": null,
        "clientInfo": {"name": "retort"},
        "rootUri": root,
        "workspaceFolders": [{"uri": root, "name": "repository"}],
        "capabilities": {
            "general": {"positionEncodings": ["utf-16", "utf-32"]},
            "window": {"workDoneProgress": true},
            "workspace": {"configuration": true, "workspaceFolders": true, "didChangeConfiguration": {}},
            "textDocument": {
                "synchronization": {},
                "completion": {"completionItem": {"snippetSupport": false}, "contextSupport": true},
                "hover": {"contentFormat": ["plaintext", "markdown"]},
                "definition": {"linkSupport": true},
                "typeDefinition": {"linkSupport": true},
                "documentSymbol": {"hierarchicalDocumentSymbolSupport": true},
                "publishDiagnostics": {"versionSupport": true},
                "diagnostic": {},
            },
        },
        "initializationOptions": {
            // jdtls
            "settings": settings,
            "workspaceFolders": [root],
            "extendedClientCapabilities": {"classFileContentsSupport": true},
            // jedi-language-server
            "completion": {"disableSnippets": true},
            "jediSettings": {"caseInsensitiveCompletion": false},
        },
    })
}

/// Returns the settings of all servers that are known: no names that would need another import, no downloads, and no
/// limit to the length of a list.
pub(super) fn settings(repository: &Repository) -> Value {
    let pyright = json!({"analysis": {
        "autoImportCompletions": false, "diagnosticMode": "openFilesOnly", "typeCheckingMode": "standard",
        "autoSearchPaths": true,
    }});
    let off = json!({"enabled": false});
    json!({
        "python": pyright, "basedpyright": pyright, "pyright": pyright,
        "java": {
            "import": {"gradle": off, "maven": off},
            "maven": {"downloadSources": false}, "eclipse": {"downloadSources": false},
            "project": {"sourcePaths": source_paths(repository), "importOnFirstTimeStartup": "automatic"},
            "completion": {
                "maxResults": 0, "favoriteStaticMembers": [], "guessMethodArguments": "off", "chain": off,
                "postfix": off, "collapseCompletionItems": false, "lazyResolveTextEdit": off,
            },
        },
    })
}

/// Returns the folders that hold the packages of Java files, by their `package` lines.
fn source_paths(repository: &Repository) -> BTreeSet<&str> {
    let java = repository.files().iter().filter(|file| file.language == Language::Java);
    let folder = |path| str::rsplit_once(path, '/').map_or("", |(folder, _)| folder);
    let root = |file: &'_ repo::SourceFile| {
        let line = file.text.lines().find_map(|line| line.trim_start().strip_prefix("package "))?;
        Some(line.split(';').next()?.trim().replace('.', "/"))
    };
    java.filter_map(|file| {
        let folder = folder(file.path.as_str());
        let package = root(file).unwrap_or_default();
        folder.strip_suffix(package.as_str()).map(|root| root.trim_end_matches('/'))
    })
    .collect()
}

/// Adds what a server needs to run here and its command line does not say.
pub(super) fn complete(mut program: Program, limits: &Limits) -> Program {
    let is_jdtls = program.path.file_name().is_some_and(|name| name == "jdtls");
    if !is_jdtls || program.arguments.iter().any(|argument| argument == "-data") {
        return program;
    }
    if let Ok(home) = std::env::var("JAVA_HOME") {
        // The launcher stops reading its own arguments at others.
        program.arguments.splice(0..0, ["-vm".to_owned(), format!("{home}/bin/java")]);
    }
    for folder in ["configuration", "data"] {
        program.arguments.extend([format!("-{folder}"), format!("{OWN_FOLDER}/{folder}")]);
    }
    // Java itself would take a quarter of the machine. Without the other option, what jdtls has not found within five
    // seconds, as while it still reads the libraries, would be missing without a word: our deadline is to come first.
    let (heap, longest) = ((limits.memory_bytes_max >> 20) / 2, limits.deadline.max(limits.start_deadline));
    let patience = longest.as_millis() * 2;
    let options = format!("-Xmx{heap}m -Dcompletion.timeout={patience}");
    program.environment.entry("JAVA_TOOL_OPTIONS".into()).or_insert(options);
    program
}

#[cfg(test)]
mod tests {
    use super::*;
    use repo::SourceFile;

    #[test]
    fn questions_of_servers_are_answered() {
        let mut ears = Ears::new(json!({"python": {"analysis": {"a": 1}}}));
        let items = json!({"items": [{"section": "python.analysis"}, {"section": "other.x"}, {}]});
        let answer = ears.asked("workspace/configuration", &items).unwrap();
        assert_eq!(answer, json!([{"a": 1}, null, {"python": {"analysis": {"a": 1}}}]));
        assert_eq!(ears.asked("workspace/configuration", &json!(7)), Some(Value::Null));
        assert_eq!(ears.asked("client/registerCapability", &json!({})), Some(Value::Null));
        assert_eq!(ears.asked("workspace/runCode", &json!({})), None);
    }

    #[test]
    fn the_folders_of_java_packages_are_their_roots() {
        let file =
            |path: &str, text: &str| SourceFile { path: path.into(), language: Language::Java, text: text.into() };
        let files = vec![
            file("src/main/java/a/b/C.java", "// c\npackage a.b;\n"),
            file("src/test/java/a/D.java", "package a ; class D {}"),
            file("E.java", "class E {}"),
            file("odd/F.java", "package elsewhere;"),
        ];
        let repository = Repository::new("r", files);
        let roots: Vec<&str> = source_paths(&repository).into_iter().collect();
        assert_eq!(roots, ["", "src/main/java", "src/test/java"]);
    }

    #[test]
    fn jdtls_gets_folders_of_its_own() {
        let program = complete(Program::parse("bin/jdtls"), &Limits::default());
        assert!(program.to_string().ends_with("-configuration {own}/configuration -data {own}/data"), "{program}");
        assert_eq!(program.environment["JAVA_TOOL_OPTIONS"], "-Xmx2048m -Dcompletion.timeout=240000");
        let told = Program::parse("jdtls -data here");
        assert_eq!(complete(told.clone(), &Limits::default()), told);
    }
}
