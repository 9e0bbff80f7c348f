//! Hostile archives.

use std::io::Write;

use lzma_rust2::{XzOptions, XzWriter};
use tar::{EntryType, Header};
use zip::write::SimpleFileOptions;

use super::*;

fn zip_of(entries: &[(&str, &[u8])]) -> Vec<u8> {
    let mut writer = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    for (name, content) in entries {
        writer.start_file(*name, SimpleFileOptions::default()).unwrap();
        writer.write_all(content).unwrap();
    }
    writer.finish().unwrap().into_inner()
}

/// Appends an entry whose name is written as it is, without the checks of the builder.
fn append(tar: &mut tar::Builder<Vec<u8>>, kind: EntryType, name: &[u8], content: &[u8]) {
    let mut header = Header::new_gnu();
    header.as_old_mut().name[..name.len()].copy_from_slice(name);
    header.set_entry_type(kind);
    header.set_size(content.len() as u64);
    if matches!(kind, EntryType::Symlink | EntryType::Link) {
        header.set_link_name("/etc").unwrap();
    }
    header.set_cksum();
    tar.append(&header, content).unwrap();
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn xz(bytes: &[u8], options: XzOptions) -> Vec<u8> {
    let mut writer = XzWriter::new(Vec::new(), options).unwrap();
    writer.write_all(bytes).unwrap();
    writer.finish().unwrap()
}

#[test]
fn a_zip_with_hostile_names_is_read_and_writes_nothing() {
    let place = Place::new();
    let mut writer = zip::ZipWriter::new_append(std::io::Cursor::new(zip_of(&[
        ("../escaped.py", b"x = 1\n"),
        ("/absolute.py", b"x = 2\n"),
        ("pkg/../../up.py", b"x = 3\n"),
        ("back\\slash.py", b"x = 4\n"),
        ("C:/drive.py", b"x = 5\n"),
        (".git/hooks/post-checkout.py", b"x = 6\n"),
        ("a.py", A.as_bytes()),
        ("A.py", b"x = 7\n"),
        ("b.py", B.as_bytes()),
        ("pkg-1.dist-info/METADATA", b"Name: pkg\nLicense-Expression: MIT\n\n"),
    ])))
    .unwrap();
    writer.add_symlink("link.py", "/etc/passwd", SimpleFileOptions::default()).unwrap();
    fs::write(place.data("pkg.whl"), writer.finish().unwrap().into_inner()).unwrap();
    let before = place.all_paths();
    let corpus = place.crawl("archive:pkg.whl").unwrap();
    assert_eq!(place.all_paths(), before);
    assert!(!place.cache().exists());
    expect_test::expect![[r"
        pkg | ../escaped.py | bad_name | has a component that is a dot or two
        pkg | .git/hooks/post-checkout.py | bad_name | lies in a git directory
        pkg | /absolute.py | bad_name | is absolute
        pkg | A.py | no_cross_file_dependency |
        pkg | C:/drive.py | bad_name | is absolute
        pkg | a.py | name_collision | collides with A.py
        pkg | b.py | no_cross_file_dependency |
        pkg | back\\slash.py | bad_name | holds a backslash
        pkg | link.py | symlink | a symbolic link
        pkg | pkg-1.dist-info/METADATA | unsupported_language |
        pkg | pkg/../../up.py | bad_name | has a component that is a dot or two
    "]]
    .assert_eq(&verdicts(&corpus));
    assert_eq!(corpus.repositories[0].provenance.license, "MIT");
}

#[test]
fn a_zip_bomb_is_bounded_whether_it_states_its_size_or_lies() {
    let place = Place::new();
    let bomb = zip_of(&[("bomb.py", &vec![b' '; 60_000_000]), ("a.py", b"x = 1\n")]);
    assert!(bomb.len() < 200_000);
    let mut lies = bomb.clone();
    let size = 60_000_000_u32.to_le_bytes();
    while let Some(at) = lies.windows(4).position(|window| window == size) {
        lies[at..at + 4].copy_from_slice(&10_u32.to_le_bytes());
    }
    fs::write(place.data("bomb.zip"), &bomb).unwrap();
    fs::write(place.data("lies.zip"), &lies).unwrap();
    let corpus = place.crawl("archive:bomb.zip\narchive:lies.zip").unwrap();
    expect_test::expect![[r"
        bomb | a.py | no_cross_file_dependency |
        bomb | bomb.py | too_large | 60000000 bytes
        lies | a.py | no_cross_file_dependency |
        lies | bomb.py | unreadable | File is larger than its declared uncompressed size
    "]]
    .assert_eq(&verdicts(&corpus));
}

#[test]
fn the_content_of_all_files_together_is_bounded() {
    let place = Place::new();
    let files: Vec<(String, Vec<u8>)> =
        (0..9).map(|i| (format!("m{i}.py"), format!("{}x = {i}\n", "# word\n".repeat(100)).into_bytes())).collect();
    let entries: Vec<(&str, &[u8])> = files.iter().map(|(name, content)| (name.as_str(), content.as_slice())).collect();
    fs::write(place.data("many.zip"), zip_of(&entries)).unwrap();
    let corpus = place.crawl("[crawl]\nrepository_bytes_max = 3000\narchive:many.zip").unwrap();
    assert_eq!(ledger::count(&corpus.ledger)["repository_too_large"], 5);
}

#[test]
fn a_truncated_archive_is_a_clear_error() {
    let place = Place::new();
    let zip = zip_of(&[("a.py", A.as_bytes())]);
    fs::write(place.data("cut.zip"), &zip[..zip.len() - 30]).unwrap();
    let mut tar = tar::Builder::new(Vec::new());
    append(&mut tar, EntryType::Regular, b"a.py", &[b'x'; 5_000]);
    let tar = gzip(&tar.into_inner().unwrap());
    fs::write(place.data("cut.tar.gz"), &tar[..tar.len() / 2]).unwrap();
    for name in ["cut.zip", "cut.tar.gz"] {
        let message = chain(&place.crawl(&format!("archive:{name}")).unwrap_err());
        assert!(message.starts_with(&format!("source `archive:{name}`: cannot read the archive")), "{message}");
    }
}

#[test]
fn a_compressed_archive_without_its_checksum_is_refused_and_padding_is_not() {
    let place = Place::new();
    let mut tar = tar::Builder::new(Vec::new());
    append(&mut tar, EntryType::Regular, b"a.py", A.as_bytes());
    let tar = gzip(&tar.into_inner().unwrap());
    let mut wrong = tar.clone();
    wrong[tar.len() - 8] ^= 1;
    fs::write(place.data("padded.tar.gz"), [&tar[..], &[0; 1_000]].concat()).unwrap();
    fs::write(place.data("cut.tar.gz"), &tar[..tar.len() - 4]).unwrap();
    fs::write(place.data("wrong.tar.gz"), wrong).unwrap();
    assert_eq!(place.crawl("archive:padded.tar.gz").unwrap().repositories[0].repository.files().len(), 1);
    for name in ["cut", "wrong"] {
        let message = chain(&place.crawl(&format!("archive:{name}.tar.gz")).unwrap_err());
        assert!(message.contains("cannot read the archive"), "{message}");
    }
}

#[test]
fn an_xz_archive_is_read_and_refused_if_it_is_damaged_or_asks_for_too_much() {
    let place = Place::new();
    let mut tar = tar::Builder::new(Vec::new());
    append(&mut tar, EntryType::Regular, b"r-1.0/a.py", A.as_bytes());
    append(&mut tar, EntryType::Regular, b"r-1.0/b.py", B.as_bytes());
    let tar = tar.into_inner().unwrap();
    let whole = xz(&tar, XzOptions::with_preset(6));
    let mut greedy = XzOptions::with_preset(0);
    greedy.lzma_options.dict_size = 1 << 30;
    let mut wrong = whole.clone();
    wrong[whole.len() / 2] ^= 1;
    fs::write(place.data("r-1.0.tar.xz"), &whole).unwrap();
    fs::write(place.data("padded.txz"), [&whole[..], &[0; 8]].concat()).unwrap();
    fs::write(place.data("cut.tar.xz"), &whole[..whole.len() - 4]).unwrap();
    fs::write(place.data("wrong.tar.xz"), wrong).unwrap();
    fs::write(place.data("greedy.tar.xz"), xz(&tar, greedy)).unwrap();
    fs::write(place.data("no.tar.xz"), &tar).unwrap();
    let corpus = place.crawl("archive:r-1.0.tar.xz").unwrap();
    let paths: Vec<&str> = corpus.repositories[0].repository.files().iter().map(|file| file.path.as_str()).collect();
    assert_eq!((corpus.repositories[0].repository.name.as_str(), paths), ("r-1.0", vec!["a.py", "b.py"]));
    assert_eq!(place.crawl("archive:padded.txz").unwrap().repositories[0].repository.files().len(), 2);
    for name in ["cut", "wrong", "greedy", "no"] {
        let message = chain(&place.crawl(&format!("archive:{name}.tar.xz")).unwrap_err());
        assert!(message.contains("cannot read the archive"), "{message}");
    }
    let message = chain(&place.crawl("[crawl]\narchive_bytes_max = 2000\narchive:r-1.0.tar.xz").unwrap_err());
    assert!(message.contains("it expands to more than 2000 bytes"), "{message}");
}

#[test]
fn a_name_in_an_archive_error_is_escaped() {
    let place = Place::new();
    let mut tar = tar::Builder::new(Vec::new());
    append(&mut tar, EntryType::Regular, b"a\n\x1b[2J.py", b"x = 1\n");
    let mut tar = tar.into_inner().unwrap();
    tar[148..156].fill(b'z');
    fs::write(place.data("bad.tar"), tar).unwrap();
    let message = chain(&place.crawl("archive:bad.tar").unwrap_err());
    assert!(message.contains(r"a\n\u{1b}[2J.py") && !message.contains(char::is_control), "{message}");
}

#[test]
fn an_archive_with_another_hash_than_pinned_is_not_read() {
    let place = Place::new();
    fs::write(place.data("a.zip"), zip_of(&[("a.py", b"x = 1\n")])).unwrap();
    let message = chain(&place.crawl(&format!("archive:a.zip\nsha256 = '{}'", "0".repeat(64))).unwrap_err());
    assert!(message.contains(&format!("but {} is pinned", "0".repeat(64))), "{message}");
}

#[test]
fn a_tar_with_links_devices_and_hostile_names_is_read_and_writes_nothing() {
    let place = Place::new();
    let mut tar = tar::Builder::new(Vec::new());
    append(
        &mut tar,
        EntryType::XGlobalHeader,
        b"pax_global_header",
        b"52 comment=0123456789012345678901234567890123456789\n",
    );
    append(&mut tar, EntryType::Directory, b"r-1.0/", b"");
    append(&mut tar, EntryType::Regular, b"r-1.0/a.py", A.as_bytes());
    append(&mut tar, EntryType::Regular, b"r-1.0/b.py", B.as_bytes());
    append(&mut tar, EntryType::Symlink, b"r-1.0/etc", b"");
    append(&mut tar, EntryType::Regular, b"r-1.0/etc/through.py", b"x = 1\n");
    append(&mut tar, EntryType::Link, b"r-1.0/hard.py", b"");
    append(&mut tar, EntryType::Char, b"r-1.0/device.py", b"");
    append(&mut tar, EntryType::Fifo, b"r-1.0/pipe.py", b"");
    append(&mut tar, EntryType::XHeader, b"pax", b"29 path=r-1.0/long/name/x.py\n");
    append(&mut tar, EntryType::Regular, b"short.py", b"x = 2\n");
    append(&mut tar, EntryType::GNULongName, b"././@LongLink", b"r-1.0/gnu/name.py\0");
    append(&mut tar, EntryType::Regular, b"short.py", b"x = 3\n");
    append(&mut tar, EntryType::Regular, b"r-1.0/a.py", b"x = 'again'\n");
    append(
        &mut tar,
        EntryType::Regular,
        b"r-1.0/LICENSE",
        b"Permission is hereby granted, free of charge, to any person obtaining a copy",
    );
    fs::write(place.data("r-1.0.tar.gz"), gzip(&tar.into_inner().unwrap())).unwrap();
    let before = place.all_paths();
    let corpus = place.crawl("archive:r-1.0.tar.gz").unwrap();
    assert_eq!(place.all_paths(), before);
    assert!(!place.cache().exists());
    expect_test::expect![[r"
        r-1.0 | LICENSE | unsupported_language |
        r-1.0 | a.py | kept |
        r-1.0 | a.py | name_collision | collides with a.py
        r-1.0 | b.py | kept |
        r-1.0 | device.py | not_a_file | a special file
        r-1.0 | etc | symlink | a symbolic link
        r-1.0 | etc/through.py | bad_name | lies below the symbolic link etc
        r-1.0 | gnu/name.py | no_cross_file_dependency |
        r-1.0 | hard.py | symlink | a hard link
        r-1.0 | long/name/x.py | no_cross_file_dependency |
        r-1.0 | pipe.py | not_a_file | a special file
    "]]
    .assert_eq(&verdicts(&corpus));
    assert_eq!(corpus.repositories[0].provenance.license, "MIT");
}

#[test]
fn hostile_names_in_a_tar_are_verdicts() {
    let place = Place::new();
    let mut tar = tar::Builder::new(Vec::new());
    append(&mut tar, EntryType::Regular, b"../up.py", b"x = 1\n");
    append(&mut tar, EntryType::Regular, b"/etc/cron.py", b"x = 2\n");
    append(&mut tar, EntryType::XHeader, b"pax", b"22 path=../../evil.py\n");
    append(&mut tar, EntryType::Regular, b"good.py", b"x = 3\n");
    append(&mut tar, EntryType::Regular, b"bad\xff.py", b"x = 4\n");
    fs::write(place.data("evil.tar"), tar.into_inner().unwrap()).unwrap();
    expect_test::expect![[r"
        evil | ../../evil.py | bad_name | has a component that is a dot or two
        evil | ../up.py | bad_name | has a component that is a dot or two
        evil | /etc/cron.py | bad_name | is absolute
        evil | bad\xff.py | bad_name | is not UTF-8
    "]]
    .assert_eq(&verdicts(&place.crawl("archive:evil.tar").unwrap()));
}

#[test]
fn a_pax_record_that_contradicts_its_header_is_refused() {
    let place = Place::new();
    let mut tar = tar::Builder::new(Vec::new());
    append(&mut tar, EntryType::XHeader, b"pax", b"13 size=9999\n");
    append(&mut tar, EntryType::Regular, b"a.py", b"x = 1\n");
    fs::write(place.data("two.tar"), tar.into_inner().unwrap()).unwrap();
    let message = chain(&place.crawl("archive:two.tar").unwrap_err());
    assert!(message.ends_with("the entry a.py has 6 bytes by its header and 9999 by its PAX record"), "{message}");
}

#[test]
fn a_tar_bomb_and_a_long_record_are_bounded() {
    let place = Place::new();
    let mut tar = tar::Builder::new(Vec::new());
    append(&mut tar, EntryType::Regular, b"bomb.bin", &vec![0; 5_000_000]);
    fs::write(place.data("bomb.tar.gz"), gzip(&tar.into_inner().unwrap())).unwrap();
    let message = chain(&place.crawl("[crawl]\narchive_bytes_max = 1000000\narchive:bomb.tar.gz").unwrap_err());
    assert!(message.contains("expands to more than 1000000 bytes"), "{message}");
    let mut tar = tar::Builder::new(Vec::new());
    append(&mut tar, EntryType::GNULongName, b"././@LongLink", &vec![b'a'; 5_000_000]);
    fs::write(place.data("long.tar.gz"), gzip(&tar.into_inner().unwrap())).unwrap();
    let message = chain(&place.crawl("archive:long.tar.gz").unwrap_err());
    assert!(message.contains("an extension record is longer than 65536 bytes"), "{message}");
}
