//! The texts that a backend ships, in one compressed file: each behind a line `//// NAME`, all of it LZMA, as `xz -dc` reads it.

use std::{
    collections::BTreeMap,
    fs,
    io::{ErrorKind, Read, Write},
    path::Path,
};

use lzma_rust2::{LzmaOptions, LzmaReader, LzmaWriter};

use crate::{Result, shell::root};

/// Begins the line before a text. Backends divide by the same.
const TITLE: &str = "//// ";

/// The most that texts may take unpacked, in bytes: whoever unpacks them holds as much.
const MOST_BYTES: u32 = 6 << 20;

/// Texts by their names.
pub(crate) type Texts = BTreeMap<String, String>;

/// Returns the packed file: the same bytes on every machine, by the version of the compressor in `Cargo.lock`.
pub(crate) fn pack(texts: &Texts) -> Result<Vec<u8>> {
    let mut whole = String::new();
    for (name, text) in texts {
        whole.extend([TITLE, name, "\n", text]);
    }
    let bytes = whole.len();
    if bytes > MOST_BYTES as usize {
        return Err(
            format!("{bytes} bytes of text, at most {MOST_BYTES}: make fewer entries").into()
        );
    }
    let mut options = LzmaOptions::with_preset(6);
    // Text has no alignment: more bits for the letter before, none for the position.
    (options.lc, options.pb) = (4, 0);
    (options.nice_len, options.dict_size) = (273, MOST_BYTES);
    let mut writer = LzmaWriter::new_use_header(Vec::new(), &options, Some(whole.len() as u64))?;
    writer.write_all(whole.as_bytes())?;
    Ok(writer.finish()?)
}

/// Returns the texts of a packed file; an error where it is none.
pub(crate) fn unpack(packed: &[u8]) -> Result<Texts> {
    let mut whole = String::new();
    LzmaReader::new_mem_limit(packed, u32::MAX, None)?.read_to_string(&mut whole)?;
    let texts = whole.split(TITLE).filter_map(|text| text.split_once('\n'));
    Ok(texts.map(|(name, text)| (name.to_owned(), text.to_owned())).collect())
}

/// Returns the texts of the packed file at `path`: none where there is no file.
pub(crate) fn read(path: &Path) -> Result<Texts> {
    match fs::read(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(Texts::new()),
        packed => unpack(&packed?).map_err(|error| format!("{}: {error}", path.display()).into()),
    }
}

/// Packs `texts` into the file at `path`, from the root, if they are not in it already, and tells that it has been written.
pub(crate) fn write(path: &str, texts: &Texts) -> Result<()> {
    let (file, packed) = (root().join(path), pack(texts)?);
    if fs::read(&file).ok().as_ref() != Some(&packed) {
        println!("{path}");
        fs::write(file, packed)?;
    }
    Ok(())
}

/// Prints the text called `name` of the packed file at `path`, from the root.
pub(crate) fn show(path: &str, name: &str) -> Result<()> {
    let texts = read(&root().join(path))?;
    let known = || texts.keys().map(String::as_str).collect::<Vec<_>>().join(", ");
    let text = texts.get(name).ok_or_else(|| format!("{path} has no {name}, but {}", known()))?;
    Ok(std::io::stdout().write_all(text.as_bytes())?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts() -> Texts {
        let text = |name: &str| (name.to_owned(), format!("// {name}\nret;\n").repeat(100));
        ["add", "softmax"].map(text).into()
    }

    #[test]
    fn what_is_packed_is_smaller_and_comes_back_though_bytes_lie_behind_it() {
        let mut packed = pack(&texts()).unwrap();
        assert!(packed.len() < 200, "{}", packed.len());
        assert_eq!(pack(&texts()).unwrap(), packed);
        packed.extend([0; 16]);
        assert_eq!(unpack(&packed).unwrap(), texts());
        assert!(unpack(&packed[..packed.len() - 25]).is_err(), "cut short");
    }

    #[test]
    fn more_than_a_backend_may_ship_is_refused() {
        let text = "x".repeat(MOST_BYTES as usize);
        let error = pack(&[("a".to_owned(), text)].into()).unwrap_err().to_string();
        assert!(error.contains("at most"), "{error}");
    }
}
