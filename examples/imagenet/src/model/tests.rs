//! Parameters beside torchvision's.

use super::*;
use binade::core::ops::Download;
use binade_cpu::Cpu;

fn count(arch: Arch) -> usize {
    let resnet = Resnet::new(Sizes { arch, width: 64, classes: 1000 }, false);
    resnet.shapes().map(|(_, shape)| shape.iter().product::<usize>()).sum()
}

#[test]
fn parameters_are_as_many_as_torchvision_has() {
    assert_eq!(count(Arch::Resnet18), 11_689_512);
    assert_eq!(count(Arch::Resnet50), 25_557_032);
}

#[test]
fn parameters_have_the_names_and_shapes_of_torchvision() {
    let resnet = Resnet::new(Sizes { arch: Arch::Resnet50, width: 64, classes: 10 }, false);
    let shapes: BTreeMap<_, _> = resnet.shapes().collect();
    for (name, shape) in [
        ("conv1.weight", &[64, 3, 7, 7][..]),
        ("bn1.bias", &[64]),
        ("layer1.0.downsample.0.weight", &[256, 64, 1, 1]),
        ("layer1.2.conv1.weight", &[64, 256, 1, 1]),
        ("layer2.0.conv2.weight", &[128, 128, 3, 3]),
        ("layer4.2.bn3.weight", &[2048]),
        ("fc.weight", &[10, 2048]),
    ] {
        assert_eq!(shapes.get(name), Some(&shape), "{name}");
    }
    assert!(!shapes.contains_key("layer1.1.downsample.0.weight"));
    assert_eq!(shapes.len(), 161);
    assert_eq!(resnet.vectors().count(), 2 * 53 + 1);
}

#[test]
fn first_weights_are_of_the_deviation_that_keeps_a_gradients_size() {
    let resnet = Resnet::new(Sizes { arch: Arch::Resnet18, width: 16, classes: 4 }, true);
    let net = Net::new(resnet, Var::batch_norm, ImageLayout::ChannelsFirst, &Cpu).unwrap();
    let params = net.parameters(&Cpu, 1).unwrap();
    let values = |name: &str| {
        let param = params.iter().find(|param| &*param.name == name).unwrap();
        Cpu.download(&param.value).unwrap()
    };
    let weight = values("layer3.0.conv2.weight");
    #[expect(clippy::cast_precision_loss, reason = "a few thousand")]
    let square = weight.iter().map(|x| x * x).sum::<f32>() / weight.len() as f32;
    let wanted = 2.0 / (64.0 * 9.0);
    assert!((square / wanted - 1.0).abs() < 0.05, "{square} {wanted}");
    assert!(values("layer3.0.bn1.weight").iter().all(|gain| *gain == 1.0));
    assert!(values("layer3.0.bn2.weight").iter().all(|gain| *gain == 0.0));
    assert!(values("fc.bias").iter().all(|x| x.abs() <= 1.0 / 128_f32.sqrt()));
}

#[test]
fn normalisations_are_found_by_their_operation_in_both_orders() {
    for order in [ImageLayout::ChannelsFirst, ImageLayout::ChannelsLast] {
        let resnet = Resnet::new(Sizes { arch: Arch::Resnet50, width: 2, classes: 4 }, false);
        let net = Net::new(resnet, Var::batch_norm, order, &Cpu).unwrap();
        let found = net.norms(&Cpu, &net.parameters(&Cpu, 1).unwrap()).unwrap();
        let vectors: Vec<_> = net.resnet.vectors().filter(|name| *name != "fc.bias").collect();
        assert_eq!(
            (found, vectors.len()),
            (vectors.iter().map(ToString::to_string).collect(), 106)
        );
    }
}
