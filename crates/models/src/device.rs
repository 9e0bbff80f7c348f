//! The device that tensors live on, resolved once from its name.

use std::fmt;
use std::str::FromStr;

use burn::tensor::Device;

use crate::{Error, Result};

/// The name of a device in an experiment file: `auto`, `cpu`, `cuda`, `cuda:N` or `wgpu`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum DeviceSpec {
    /// The first CUDA device if this build and this machine have one, the CPU otherwise.
    #[default]
    Auto,
    /// The CPU.
    Cpu,
    /// The CUDA device of this index.
    Cuda(usize),
    /// Any GPU, through WebGPU; chosen by name only.
    Wgpu,
}

impl FromStr for DeviceSpec {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        let unknown = || Error::UnknownDevice { name: name.to_owned() };
        match name {
            "auto" => Ok(Self::Auto),
            "cpu" => Ok(Self::Cpu),
            "cuda" => Ok(Self::Cuda(0)),
            "wgpu" => Ok(Self::Wgpu),
            _ => {
                let index = name.strip_prefix("cuda:").ok_or_else(unknown)?;
                index.parse().map(Self::Cuda).map_err(|_| unknown())
            }
        }
    }
}

impl fmt::Display for DeviceSpec {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Auto => formatter.write_str("auto"),
            Self::Cpu => formatter.write_str("cpu"),
            Self::Wgpu => formatter.write_str("wgpu"),
            Self::Cuda(index) => write!(formatter, "cuda:{index}"),
        }
    }
}

/// Returns the device that `spec` names, without gradients.
///
/// # Errors
///
/// Returns an error if this build lacks the device or, for CUDA, the machine does.
pub fn resolve(spec: &DeviceSpec) -> Result<Device> {
    let device = match *spec {
        DeviceSpec::Auto => cuda(0).or_else(cpu),
        DeviceSpec::Cpu => cpu(),
        DeviceSpec::Cuda(index) => cuda(index),
        DeviceSpec::Wgpu => wgpu(),
    };
    device.ok_or_else(|| Error::MissingDevice { name: spec.to_string() })
}

/// Tells whether `device` is the CPU.
pub(crate) fn is_cpu(device: &Device) -> bool {
    cpu().is_some_and(|cpu| cpu == *device)
}

#[cfg(feature = "cpu")]
#[expect(clippy::unnecessary_wraps, reason = "other builds have no CPU device")]
fn cpu() -> Option<Device> {
    Some(Device::flex())
}

#[cfg(not(feature = "cpu"))]
fn cpu() -> Option<Device> {
    None
}

#[cfg(feature = "cuda")]
fn cuda(index: usize) -> Option<Device> {
    let devices = Device::enumerate(burn::tensor::DeviceType::Cuda).into_vec();
    (index < devices.len()).then(|| Device::cuda(index))
}

#[cfg(not(feature = "cuda"))]
fn cuda(_index: usize) -> Option<Device> {
    None
}

#[cfg(feature = "wgpu")]
fn wgpu() -> Option<Device> {
    use burn::tensor::{DeviceKind, DeviceType};
    let devices = Device::enumerate(DeviceType::Wgpu).into_vec();
    (!devices.is_empty()).then(|| Device::wgpu(DeviceKind::DefaultDevice))
}

#[cfg(not(feature = "wgpu"))]
fn wgpu() -> Option<Device> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_name_reads_back_as_it_prints() {
        for spec in [DeviceSpec::Auto, DeviceSpec::Cpu, DeviceSpec::Cuda(3), DeviceSpec::Wgpu] {
            assert_eq!(spec.to_string().parse::<DeviceSpec>().unwrap(), spec);
        }
        assert_eq!("cuda".parse::<DeviceSpec>().unwrap(), DeviceSpec::Cuda(0));
    }

    #[test]
    fn an_unknown_device_is_refused() {
        for name in ["", "gpu", "cuda:", "cuda:x", "CPU"] {
            let error = name.parse::<DeviceSpec>().unwrap_err();
            assert!(error.to_string().contains("expected auto"), "{error}");
        }
    }

    #[cfg(all(feature = "cpu", not(feature = "cuda")))]
    #[test]
    fn a_build_without_cuda_refuses_it_and_falls_back_to_the_cpu() {
        assert!(resolve(&DeviceSpec::Cuda(0)).is_err());
        assert!(resolve(&DeviceSpec::Auto).is_ok());
    }
}
