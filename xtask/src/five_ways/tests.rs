//! The table as it is made, and as it is committed: every run of the programs has its row, and no row says what cannot be.

use std::{collections::BTreeSet, path::Path};

use super::*;
use crate::shell::root;

#[test]
fn a_loss_that_is_none_and_a_scaler_that_is_none_are_told() {
    let rows = r#"[{"way":"candle","precision":"f16","with":"alone","accuracy":0.1,"loss":null,"moved":1.0,"scaling":null},
        {"way":"tape","precision":"f16","with":"Binade","accuracy":0.928,"loss":0.2067,"moved":0.907,"scaling":{"skipped":9,"scale":262144.0}}]"#;
    let table = table(&serde_json::from_str::<Vec<Row>>(rows).unwrap()).unwrap();
    let lines: Vec<&str> = table.lines().skip(2).collect();
    assert_eq!(lines[0], "| candle | f16 | alone | 10.0 % | not finite | 100 % | – | – |");
    assert_eq!(lines[1], "| tape | f16 | Binade | 92.8 % | 0.207 | 91 % | 9 | 2^18 |");
}

#[test]
fn a_scale_of_one_is_one() {
    assert_eq!((power(1.0), power(3.0), power(0.5)), ("1".into(), "3".into(), "2^-1".into()));
}

/// The columns of the committed table, row by row.
fn committed() -> Vec<[String; 8]> {
    let readme = fs::read_to_string(root().join("README.md")).unwrap();
    let (_, table, _) = around(&readme).unwrap();
    let rows = table.lines().filter(|line| line.starts_with("| ")).skip(1);
    let columns = |line: &str| {
        let all = line.trim_matches('|').split('|').map(|column| column.trim().to_owned());
        all.collect::<Vec<String>>().try_into().unwrap()
    };
    rows.map(columns).collect()
}

fn read(folder: &Path, text: &mut String) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            read(&path, text);
        } else {
            *text += &std::fs::read_to_string(path).unwrap();
        }
    }
}

/// Ways and trainers as the programs' rows name them.
fn ways() -> BTreeSet<(String, String)> {
    let mut text = String::new();
    for program in ["five_ways", "candle", "burn"] {
        read(&root().join("examples").join(program).join("src"), &mut text);
    }
    let rows = text.split("Row::new((\"").skip(1).filter_map(|row| {
        let (way, rest) = row.split_once("\", precision, \"")?;
        Some((way.to_owned(), rest.split('"').next()?.to_owned()))
    });
    rows.collect()
}

/// Precisions as the rows spell them.
fn precisions() -> Vec<String> {
    let row = std::fs::read_to_string(root().join("examples/shared/src/five_ways/row.rs")).unwrap();
    let all = row.split("const ALL: [Self; 3] = [").nth(1).unwrap().split(']').next().unwrap();
    all.split(", ").map(|it| it.trim_start_matches("Self::").to_lowercase()).collect()
}

#[test]
fn the_committed_table_has_a_row_for_each_way_each_precision_and_each_trainer_and_no_other() {
    let rows = committed();
    let found =
        rows.iter().map(|[way, precision, with, ..]| [way, precision, with].map(String::clone));
    let wanted = ways().into_iter().flat_map(|(way, with)| {
        precisions().into_iter().map(move |precision| [way.clone(), precision, with.clone()])
    });
    let (found, wanted): (BTreeSet<_>, BTreeSet<_>) = (found.collect(), wanted.collect());
    assert!(ways().len() > 6 && rows.len() == found.len(), "{rows:?}");
    assert_eq!(found, wanted, "run `cargo xtask five-ways` and commit the table");
}

/// Whether these rows of the table were trained by Binade.
fn by_binade([_, _, with, ..]: &[String; 8]) -> bool {
    with == "Binade"
}

#[test]
fn in_f16_every_way_by_binade_skips_alike_and_ends_at_one_scale() {
    let rows = committed();
    let of_f16 = rows.iter().filter(|row| by_binade(row) && row[1] == "f16");
    let scaled: Vec<_> = of_f16.map(|[.., skipped, scale]| (skipped, scale)).collect();
    assert!(scaled.len() > 4 && scaled.iter().all(|it| *it == scaled[0]), "{scaled:?}");
    assert!(scaled[0].0.parse::<u64>().unwrap() > 0 && scaled[0].1.starts_with("2^"), "{scaled:?}");
}

#[test]
fn where_nothing_scales_nothing_is_skipped() {
    for row in committed().iter().filter(|row| !(by_binade(row) && row[1] == "f16")) {
        let [.., skipped, scale] = row;
        let of_none = by_binade(row) && (skipped.as_str(), scale.as_str()) == ("0", "1");
        assert!(of_none || (skipped.as_str(), scale.as_str()) == ("–", "–"), "{row:?}");
    }
}

/// What the page says of them: the same in every way and every type, where alone they are not.
#[test]
fn every_way_by_binade_ends_alike_whatever_the_weights_are_stored_in() {
    let number = |text: &String| text.trim_end_matches(" %").parse::<f64>().unwrap();
    let rows = committed();
    let first = &rows[0];
    for row in rows.iter().filter(|row| by_binade(row)) {
        let [accuracy, loss, moved] =
            [3, 4, 5].map(|at| (number(&row[at]) - number(&first[at])).abs());
        assert!(accuracy <= 0.5 && loss <= 0.005 && moved <= 2.0, "{row:?}, and {first:?}");
    }
}

#[test]
fn the_table_is_put_between_its_lines() {
    let text = with_table(&format!("a\n{BEGIN}\nold\n\n{END}c\n"), "new\n").unwrap();
    assert_eq!(text, format!("a\n{BEGIN}\nnew\n\n{END}c\n"));
    assert!(with_table("a", "new").unwrap_err().to_string().starts_with("README.md has no place"));
}
