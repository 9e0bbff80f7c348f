"""Writes members.txt, the public API of common JDK packages, for the Java engine of the crate `analysis`.

    python tests/golden/java_members.py [JAVA_HOME] > crates/analysis/src/java/members.txt

Names, kinds and signatures are read with `javap` of the same JDK; nothing else of the JDK goes into the table. Written
with OpenJDK 17.0.15. The table's head says what its lines mean.
"""

import pathlib
import re
import subprocess
import sys
import zipfile

HOME = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else "/usr/lib/jvm/java-17-openjdk-amd64")

PACKAGES = {
    "java.base": """java.lang java.lang.annotation java.lang.invoke java.lang.ref java.lang.reflect java.io java.math java.net
        java.nio java.nio.channels java.nio.charset java.nio.file java.nio.file.attribute java.security java.text
        java.time java.time.chrono java.time.format java.time.temporal java.time.zone java.util java.util.concurrent
        java.util.concurrent.atomic java.util.concurrent.locks java.util.function java.util.jar java.util.regex
        java.util.stream java.util.zip javax.crypto javax.crypto.spec javax.net javax.net.ssl java.security.cert
        java.security.spec""",
    "java.logging": "java.util.logging",
    "java.sql": "java.sql javax.sql",
    "java.xml": "javax.xml javax.xml.parsers javax.xml.transform javax.xml.transform.dom javax.xml.transform.stream "
    "javax.xml.xpath javax.xml.namespace org.w3c.dom org.xml.sax",
    "java.desktop": "java.beans",
}

HEAD = """\
# The public and protected API of common packages of the JDK: names, kinds and signatures, which are facts of the API.
# Written by tests/golden/java_members.py from OpenJDK 17 with javap; no code, comment or parameter name is taken over.
#
# `p` opens a package. `c` class, `i` interface, `e` enum, `r` record, `@` annotation. After the name: type
# parameters, `:` and the supertypes, the superclass of a class first.
# Members: `.` public, `,` protected, `:` public static, `;` protected static, `!` public abstract of an interface;
# `name type` is a field, `name(types) type` a method, `(types)` a constructor. `? extends T` and `? super T` are
# written `T`. A type is written by its simple name where the table has only one of that name; nesting is `$`.
# Methods that repeat one of a supertype are left out.
"""


def class_names():
    """Yields (package, binary names) of the wanted packages."""
    for module, packages in PACKAGES.items():
        names = zipfile.ZipFile(HOME / "jmods" / f"{module}.jmod").namelist()
        for package in packages.split():
            pattern = re.compile("classes/" + package.replace(".", "/") + r"/([A-Z]\w*(?:\$[A-Z]\w*)*)\.class")
            yield module, package, sorted(match[1] for match in map(pattern.fullmatch, names) if match)


def javap(module, names):
    command = [HOME / "bin" / "javap", "-protected", "--module", module, *names]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def split(text, separator=","):
    """Splits at separators outside of angle brackets."""
    parts, depth, start = [], 0, 0
    for index, char in enumerate(text):
        depth += (char == "<") - (char == ">")
        if char == separator and depth == 0:
            parts.append(text[start:index].strip())
            start = index + 1
    return [part for part in parts + [text[start:].strip()] if part]


def leading_parameters(text):
    """Splits `<T, U> rest` into its parameters and the rest."""
    if not text.startswith("<"):
        return "", text
    depth = 0
    for index, char in enumerate(text):
        depth += (char == "<") - (char == ">")
        if depth == 0:
            return text[: index + 1], text[index + 1 :].strip()
    raise ValueError(text)


class Table:
    def __init__(self):
        self.headers, self.members, self.binary = {}, {}, {}

    def read(self, package, output):
        for block in re.findall(r"^(?:public |protected )[^\n]*\{\n.*?^\}", output, re.M | re.S):
            head, *lines = block.splitlines()
            name = re.search(r"(?:class|interface) ([\w.$]+)", head)[1]
            self.headers[name] = (package, head.rstrip("{ "))
            self.members[name] = [line.strip().rstrip(";") for line in lines[:-1]]

    def shorten(self):
        """Finds the simple names that only one type has."""
        owners = {}
        for name, (package, _) in self.headers.items():
            owners.setdefault(name[len(package) + 1 :], []).append(name)
        self.short = {names[0]: simple for simple, names in owners.items() if len(names) == 1}

    def type(self, text):
        text = re.sub(r"\? (?:extends|super) ", "", text)
        text = re.sub(r"[\w.$]+", lambda match: self.short.get(match[0], match[0]), text)
        return re.sub(r", ", ",", text)

    def parameters(self, text):
        if not text:
            return ""
        bounds = []
        for part in split(text[1:-1]):
            name, _, bound = part.partition(" extends ")
            first = split(bound, "&")[0] if bound else ""
            bounds.append(name + (":" + self.type(first) if first and first != "java.lang.Object" else ""))
        return "<" + ",".join(bounds) + ">"

    def header(self, name):
        package, head = self.headers[name]
        is_interface = " interface " in f" {head}"
        rest = head.partition(name)[2]
        parameters, rest = leading_parameters(rest)
        superclass = re.search(r"extends (.*?)(?: implements |$)", rest)
        interfaces = re.search(r"implements (.*)$", rest)
        supers = split(superclass[1]) if superclass else []
        kind = "i" if is_interface else "c"
        if is_interface and "java.lang.annotation.Annotation" in supers:
            kind = "@"
        elif supers[:1] and supers[0].startswith("java.lang.Enum<"):
            kind = "e"
        elif supers[:1] == ["java.lang.Record"]:
            kind = "r"
        if kind in "cer" and not supers and name != "java.lang.Object":
            supers = ["java.lang.Object"]
        supers += split(interfaces[1]) if interfaces else []
        self.supers = [re.sub(r"<.*", "", each) for each in supers]
        line = kind + name[len(package) + 1 :] + self.parameters(parameters)
        return line + (":" + ",".join(map(self.type, supers)) if supers else ""), is_interface

    def member(self, name, line, is_interface):
        line = re.sub(r" throws .*$", "", line)
        words = line.split(" ")
        flags = set()
        known = "public protected static final abstract default synchronized native transient volatile strictfp".split()
        while words and words[0] in known:
            flags.add(words.pop(0))
        parameters, rest = leading_parameters(" ".join(words))
        sign = "," if "protected" in flags else "."
        if "static" in flags:
            sign = ";" if "protected" in flags else ":"
        elif is_interface and "abstract" in flags:
            sign = "!"
        call = re.fullmatch(r"(?:(.*) )?([\w.$]+)\((.*)\)", rest)
        if not call:
            type_name, _, field = rest.rpartition(" ")
            return f"{sign}{field} {self.type(type_name)}"
        arguments = ",".join(map(self.type, split(call[3])))
        if call[1] is None:
            return f"{sign}({arguments})"
        return f"{sign}{self.parameters(parameters)}{call[2]}({arguments}) {self.type(call[1])}"

    def write(self):
        self.shorten()
        lines, supers = {}, {}
        for name in self.headers:
            header, is_interface = self.header(name)
            supers[name] = self.supers
            found = [self.member(name, line, is_interface) for line in self.members[name] if line and line != "static {}"]
            lines[name] = (header, list(dict.fromkeys(found)))

        def inherited(name):
            seen, pending = set(), list(supers.get(name, []))
            while pending:
                other = pending.pop()
                if other in lines and other not in seen:
                    seen.add(other)
                    pending += supers[other]
            return {line[1:] for other in seen for line in lines[other][1] if "(" in line and not line[1] == "("}

        print(HEAD, end="")
        package = None
        for name, (header, members) in lines.items():
            if self.headers[name][0] != package:
                package = self.headers[name][0]
                print("p" + package)
            print(header)
            above = inherited(name)
            for line in members:
                if line[1:] not in above or line[0] == "!":
                    print(line)


def main():
    table = Table()
    for module, package, names in class_names():
        table.read(package, javap(module, [f"{package}.{name}" for name in names]))
    table.write()


main()
