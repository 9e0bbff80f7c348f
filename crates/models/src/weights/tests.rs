//! Tests of the module above.

use burn::tensor::Device;
use proptest::prelude::*;

use super::*;
use crate::DeviceSpec;

#[derive(Module, Debug)]
struct Block {
    dense: crate::linear::Linear,
    norm: crate::norm::LayerNorm,
}

const NAMES: Names = Names {
    prefix: String::new(),
    rename: |path| path.replace("norm", "LayerNorm"),
    is_unused: |name| name == "position_ids",
};

fn device() -> Device {
    crate::device::resolve(&DeviceSpec::Cpu).unwrap()
}

fn block() -> Block {
    let device = device();
    Block {
        dense: crate::linear::Linear::new(2, 3, true, &device),
        norm: crate::norm::LayerNorm::new(3, 1e-5, &device),
    }
}

fn tensor(shape: &[usize], start: f32) -> HostTensor {
    let values = (0..shape.iter().product::<usize>()).map(|i| start + i as f32);
    HostTensor { shape: shape.to_vec(), values: values.collect() }
}

fn block_tensors() -> BTreeMap<String, HostTensor> {
    BTreeMap::from([
        ("dense.weight".to_owned(), tensor(&[3, 2], 0.0)),
        ("dense.bias".to_owned(), tensor(&[3], 10.0)),
        ("LayerNorm.weight".to_owned(), tensor(&[3], 20.0)),
        ("LayerNorm.bias".to_owned(), tensor(&[3], 30.0)),
    ])
}

fn file(bytes: &[u8]) -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("model.safetensors"), bytes).unwrap();
    directory
}

fn file_of(header: &str, data: &[u8]) -> tempfile::TempDir {
    file(&[&(header.len() as u64).to_le_bytes(), header.as_bytes(), data].concat())
}

fn failure(directory: &tempfile::TempDir) -> String {
    let error = Checkpoint::open(directory.path()).unwrap_err();
    error.to_string().replace(&directory.path().display().to_string(), "DIRECTORY")
}

#[test]
fn tensors_keep_the_layout_of_the_checkpoint() {
    let source = MemoryTensors::new(Path::new("memory"), block_tensors());
    let block = load(block(), &source, &NAMES).unwrap();
    let weight: Vec<f32> = block.dense.weight.val().into_data().iter().collect();
    assert_eq!(weight, [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]);
    assert_eq!(tensors(&block, &NAMES), block_tensors());
}

#[test]
fn what_is_saved_loads_as_it_was() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("model.safetensors");
    let source = MemoryTensors::new(Path::new("memory"), block_tensors());
    save(&load(block(), &source, &NAMES).unwrap(), &path, &NAMES).unwrap();
    let loaded = load(block(), &Checkpoint::open(directory.path()).unwrap(), &NAMES).unwrap();
    assert_eq!(tensors(&loaded, &NAMES), block_tensors());
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 1, "no partial file is left");
    let bytes = std::fs::read(&path).unwrap();
    let reference = safetensors::SafeTensors::deserialize(&bytes).unwrap();
    assert_eq!(reference.tensor("dense.weight").unwrap().shape(), [3, 2]);
}

#[test]
fn a_prefix_is_put_before_every_name() {
    let prefixed = block_tensors().into_iter().map(|(name, tensor)| (format!("bert.{name}"), tensor)).collect();
    let names = Names { prefix: "bert.".to_owned(), ..NAMES };
    assert!(load(block(), &MemoryTensors::new(Path::new("memory"), prefixed), &names).is_ok());
}

#[test]
fn one_error_lists_all_that_does_not_fit() {
    let mut tensors = block_tensors();
    tensors.remove("dense.bias");
    tensors.insert("head.weight".to_owned(), tensor(&[1], 0.0));
    tensors.insert("position_ids".to_owned(), tensor(&[1], 0.0));
    tensors.insert("dense.weight".to_owned(), tensor(&[2, 3], 0.0));
    let error = load(block(), &MemoryTensors::new(Path::new("memory"), tensors), &NAMES).unwrap_err();
    let expected = "the weights in memory do not fit the model: missing dense.bias; unexpected head.weight; \
                    dense.weight is [2, 3] where the model has [3, 2]";
    assert_eq!(error.to_string(), expected);
}

#[test]
fn halves_are_widened() {
    let header = r#"{"a":{"dtype":"F16","shape":[2],"data_offsets":[0,4]},"b":{"dtype":"BF16","shape":[2],"data_offsets":[4,8]},"c":{"dtype":"I64","shape":[1],"data_offsets":[8,16]}}"#;
    let mut data = Vec::new();
    data.extend([1.5, -2.0].map(half::f16::from_f32).iter().flat_map(|value| value.to_le_bytes()));
    data.extend([3.0, -0.5].map(half::bf16::from_f32).iter().flat_map(|value| value.to_le_bytes()));
    data.extend(7_i64.to_le_bytes());
    let directory = file_of(header, &data);
    let checkpoint = Checkpoint::open(directory.path()).unwrap();
    assert_eq!(checkpoint.read("a").unwrap(), [1.5, -2.0]);
    assert_eq!(checkpoint.read("b").unwrap(), [3.0, -0.5]);
    let error = checkpoint.read("c").unwrap_err().to_string();
    assert!(error.ends_with("`c` has type I64: expected F32, F16 or BF16"), "{error}");
    assert!(checkpoint.read("d").is_err());
}

#[test]
fn a_damaged_header_is_an_error() {
    let one = r#""a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}"#;
    let twice = format!("{{{one},{one}}}");
    let failures = [
        failure(&file_of(&twice, &[0; 4])),
        failure(&file_of("{}", &[])),
        failure(&file_of("", &[])),
        failure(&file_of("{\"a\":3}", &[])),
        failure(&file_of(&format!("{{{one}}}"), &[0; 3])),
        failure(&file_of(r#"{"a":{"dtype":"F32","shape":[2],"data_offsets":[0,4]}}"#, &[0; 4])),
        failure(&file_of(r#"{"a":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}}"#, &[0; 8])),
        failure(&file(b"123")),
        failure(&file(&[0xFF; 64])),
    ];
    expect_test::expect![[r"
        DIRECTORY/model.safetensors: damaged header: `a` occurs twice at line 1 column 107
        DIRECTORY/model.safetensors: the header has no tensors
        DIRECTORY/model.safetensors: damaged header: EOF while parsing a value at line 1 column 0
        DIRECTORY/model.safetensors: damaged header: `a` is not a tensor
        DIRECTORY/model.safetensors: the header announces 4 bytes of tensors, the file has 3
        DIRECTORY/model.safetensors: damaged header: invalid shape, data type, or offset for tensor
        DIRECTORY/model.safetensors: damaged header: invalid offset for tensor `a`
        DIRECTORY/model.safetensors: the file is shorter than the length of its header
        DIRECTORY/model.safetensors: a header of 18446744073709551615 bytes does not fit a file of 64 bytes"]]
    .assert_eq(&failures.join("\n"));
}

#[test]
fn shards_are_read_through_their_index() {
    let directory = tempfile::tempdir().unwrap();
    let (first, second): (BTreeMap<_, _>, BTreeMap<_, _>) =
        block_tensors().into_iter().partition(|(name, _)| name.starts_with("dense"));
    write(&directory.path().join("one.safetensors"), &first).unwrap();
    write(&directory.path().join("two.safetensors"), &second).unwrap();
    let mut index = serde_json::Map::new();
    index.extend(first.keys().map(|name| (name.clone(), "one.safetensors".into())));
    index.extend(second.keys().map(|name| (name.clone(), "two.safetensors".into())));
    let write_index = |index: &serde_json::Map<String, serde_json::Value>| {
        let json = serde_json::json!({ "metadata": {}, "weight_map": index }).to_string();
        std::fs::write(directory.path().join("model.safetensors.index.json"), json).unwrap();
    };
    write_index(&index);
    let loaded = load(block(), &Checkpoint::open(directory.path()).unwrap(), &NAMES).unwrap();
    assert_eq!(tensors(&loaded, &NAMES), block_tensors());

    index.remove("dense.bias");
    write_index(&index);
    assert!(failure(&directory).ends_with("the index and the shards disagree about `dense.bias`"));
    index.insert("dense.bias".to_owned(), "../one.safetensors".into());
    write_index(&index);
    assert!(failure(&directory).ends_with("`../one.safetensors` is not a file name"));
    write(&directory.path().join("two.safetensors"), &block_tensors()).unwrap();
    index.insert("dense.bias".to_owned(), "one.safetensors".into());
    write_index(&index);
    assert!(failure(&directory).contains("another shard has a tensor `dense."));
}

#[test]
fn names_from_the_file_are_escaped_in_errors() {
    let one = r#""a\n\u001b[2J":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}"#;
    let loaded = |directory: &tempfile::TempDir| {
        let checkpoint = Checkpoint::open(directory.path()).unwrap();
        load(block(), &checkpoint, &NAMES).unwrap_err().to_string()
    };
    let index = tempfile::tempdir().unwrap();
    let json = r#"{"weight_map":{"a":"a\n\u001b[2J"}}"#;
    std::fs::write(index.path().join("model.safetensors.index.json"), json).unwrap();
    for message in [
        failure(&file_of(&format!("{{{one},{one}}}"), &[0; 4])),
        failure(&file_of(r#"{"a\n\u001b[2J":3}"#, &[])),
        failure(&file_of(&format!("{{{}}}", one.replace("[0,4]", "[4,8]")), &[0; 8])),
        failure(&index),
        loaded(&file_of(&format!("{{{one}}}"), &[0; 4])),
    ] {
        assert!(message.contains(r"a\n\u{1b}[2J"), "{message}");
        assert!(!message.contains(char::is_control), "{message:?}");
    }
    let twice = r#"{"weight_map":{"a\n":"b","a\n":"b"}}"#;
    std::fs::write(index.path().join("model.safetensors.index.json"), twice).unwrap();
    let error = Checkpoint::open(index.path()).unwrap_err();
    let source = std::error::Error::source(&error).unwrap().to_string();
    assert!(source.starts_with(r"`a\n` occurs twice"), "{source}");
}

#[test]
fn a_pickle_is_refused_with_the_conversion() {
    let directory = tempfile::tempdir().unwrap();
    assert!(failure(&directory).ends_with("neither model.safetensors nor model.safetensors.index.json is there"));
    std::fs::write(directory.path().join("pytorch_model.bin"), "").unwrap();
    let message = failure(&directory);
    assert!(message.starts_with("DIRECTORY/pytorch_model.bin: a pickle can run code"), "{message}");
    assert!(message.contains("save_pretrained(d)\" DIRECTORY`"), "{message}");
}

proptest! {
    #[test]
    fn no_truncation_or_flipped_byte_panics(length in 0_usize..400, position in 0_usize..400, flip in 1_u8..) {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("model.safetensors");
        write(&path, &block_tensors()).unwrap();
        let mut bytes = std::fs::read(&path).unwrap();
        if let Some(byte) = bytes.get_mut(position) {
            *byte ^= flip;
        }
        bytes.truncate(length);
        std::fs::write(&path, bytes).unwrap();
        if let Ok(checkpoint) = Checkpoint::open(&path) {
            for name in checkpoint.shapes().keys() {
                drop(checkpoint.read(name));
            }
        }
    }
}
