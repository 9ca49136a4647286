//! The table of this example: a row for each way, precision and trainer, every way by Binade ends alike, and the front page says no other.

const WAYS: [(&str, &str); 7] = [
    ("tape", "Binade"),
    ("own tensor", "Binade"),
    ("slices", "Binade"),
    ("candle", "Binade"),
    ("candle", "alone"),
    ("burn", "Binade"),
    ("burn", "alone"),
];

/// The columns of the table, row by row.
fn rows() -> Vec<[&'static str; 8]> {
    let text = include_str!("../README.md");
    let table = text.split_once("|---|---|---|---|---|---|---|---|\n").unwrap().1;
    let lines = table.lines().take_while(|line| line.starts_with("| "));
    let columns = |line: &'static str| {
        let columns: Vec<_> = line.trim_matches('|').split('|').map(str::trim).collect();
        columns.try_into().unwrap()
    };
    lines.map(columns).collect()
}

#[test]
fn each_way_has_its_three_rows_and_there_is_no_other() {
    let wanted =
        WAYS.iter().flat_map(|&(way, with)| ["f32", "bf16", "f16"].map(|it| [way, it, with]));
    let found = rows().into_iter().map(|[way, precision, with, ..]| [way, precision, with]);
    assert_eq!(found.collect::<Vec<_>>(), wanted.collect::<Vec<_>>());
}

#[test]
fn by_binade_every_way_ends_alike_and_only_f16_is_scaled() {
    let number = |text: &str| text.trim_end_matches(" %").parse::<f64>().unwrap();
    let rows = rows();
    for row in &rows {
        let [_, precision, with, .., skipped, scale] = *row;
        let is_scaled = with == "Binade" && precision == "f16";
        let expected: &[_] =
            if is_scaled { &[("9", "2^18")] } else { &[("0", "1"), ("–", "–")] };
        assert!(expected.contains(&(skipped, scale)), "{row:?}");
        if with == "Binade" {
            let apart = [3, 4, 5].map(|at| (number(row[at]) - number(rows[0][at])).abs());
            assert!(apart[0] <= 0.5 && apart[1] <= 0.005 && apart[2] <= 2.0, "{row:?}");
        }
    }
}

#[test]
fn the_front_page_has_the_figures_of_this_table() {
    let page = include_str!("../../../README.md");
    let trainers = [("tape", "Binade"), ("candle", "alone"), ("burn", "alone")];
    for precision in ["f32", "bf16", "f16"] {
        let start = format!("| {precision} |");
        let line = page.lines().find(|line| line.starts_with(&start)).unwrap();
        let cells = line.split('|').skip(2);
        for (cell, (way, with)) in cells.zip(trainers) {
            let is_row = |row: &&[&str; 8]| row[..3] == [way, precision, with];
            let [_, _, _, accuracy, ..] = *rows().iter().find(is_row).unwrap();
            assert!(cell.trim().starts_with(accuracy), "{way}, {precision}, {with}: {cell}");
        }
    }
}
