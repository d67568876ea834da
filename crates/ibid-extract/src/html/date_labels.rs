//! Words beside a date that say what happened on that day.

/// What a visible date is the day of, according to the words beside it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DateRole {
    Published,
    Updated,
    /// An event, a deadline, a look at a source, a birth.
    Other,
    Unknown,
}

/// Characters before and after a date in which its label may be.
const MAX_BEFORE: usize = 60;
const MAX_AFTER: usize = 24;

/// The role of a date after a text.
pub(super) fn role_after(before: &str) -> DateRole {
    let start = before.char_indices().rev().nth(MAX_BEFORE).map_or(0, |pair| pair.0);
    let before = before[start..].to_lowercase();
    if before.contains(char::is_alphabetic) {
        last_label(&before).unwrap_or(DateRole::Unknown)
    } else {
        DateRole::Unknown
    }
}

/// The role of a date before a text.
pub(super) fn role_before(after: &str) -> DateRole {
    let end = after.char_indices().nth(MAX_AFTER).map_or(after.len(), |pair| pair.0);
    let after = after[..end].to_lowercase();
    // `更新：` and `更新于` are labels of what follows.
    let of_next = after.trim_end().ends_with([':', '：', '于', '於']);
    if of_next || !after.contains(char::is_alphabetic) {
        return DateRole::Unknown;
    }
    let named = |all: &[&str]| all.iter().any(|it| after.contains(it));
    if named(UPDATED_AFTER) {
        DateRole::Updated
    } else if named(PUBLISHED_AFTER) {
        DateRole::Published
    } else {
        DateRole::Unknown
    }
}

/// The role of the only date of a line whose label is not beside it.
pub(super) fn role_of_line(line: &str) -> DateRole {
    let line = line.to_lowercase();
    let named = |labels: &[&str]| labels.iter().any(|it| end_of_last(&line, it).is_some());
    if named(PUBLISHED) {
        DateRole::Published
    } else if named(UPDATED) {
        DateRole::Updated
    } else {
        DateRole::Unknown
    }
}

/// Where a label ends in a text the last time. `Paderborn` is not `born`, and `updated` not `dated`.
fn end_of_last(text: &str, label: &str) -> Option<usize> {
    let at = text.rfind(label)?;
    let inside = label.is_ascii() && label != "datum" && text[..at].ends_with(char::is_alphabetic);
    (!inside).then_some(at + label.len())
}

/// The role of the label that ends last; of two that end together, of the longer one.
fn last_label(text: &str) -> Option<DateRole> {
    let end = text.trim_end();
    // `Edited by` names a person, `edited` right before a date does not.
    if end.ends_with("edited") {
        return Some(DateRole::Updated);
    }
    if ["answered", "replied", "commented"].iter().any(|it| end.ends_with(it)) {
        return Some(DateRole::Other);
    }
    let all =
        [(DateRole::Published, PUBLISHED), (DateRole::Updated, UPDATED), (DateRole::Other, OTHER)];
    let ends = all.iter().flat_map(|(role, labels)| {
        labels.iter().filter_map(|it| Some((end_of_last(text, it)?, it.len(), *role)))
    });
    ends.max_by_key(|it| (it.0, it.1)).map(|it| it.2)
}

/// Labels of a date of publication.
#[rustfmt::skip]
const PUBLISHED: &[&str] = &[
    "publish", "posted", "written", "dated", "date", "released", "issued", "first aired", "created", "submitted", "added on", "asked",
    "veröffentlicht", "erstveröffentlichung", "publiziert", "erstellt", "erschienen", "gepostet", "datum", "vom ", "geschrieben am",
    "eingestellt am", "verfasst am", "pressemitteilung",
    "publié", "parution", "paru le", "posté", "rédigé le", "mis en ligne", "créé le",
    "publicad", "fecha", "publicación", "publicação", "posteado", "creado", "criado em", "postado em", "publicat", "escrito",
    "pubblicat", "scritto", "inserito", "postato", "data:", "data pubblicazione",
    "gepubliceerd", "geplaatst", "gepost", "verschenen", "geschreven",
    "publicerad", "publicerat", "postat", "skapad", "publiceret", "offentliggjort", "oprettet", "publisert", "skrevet", "udgivet",
    "julkaistu", "julkaisu", "kirjoitettu",
    "opublikowan", "data publikacji", "dodano", "utworzono", "publikacja",
    "publikováno", "zveřejněno", "vydáno", "vloženo", "publikované", "zverejnené",
    "közzétéve", "megjelent", "publikálva", "létrehozva",
    "yayın tarihi", "yayınlanma", "yayımlanma", "yayınlandı", "oluşturulma", "eklenme", "giriş tarihi", "tarih:",
    "опубликован", "дата публикации", "размещен", "добавлен", "дата:", "создан", "публикаци",
    "опубліковано", "дата публікації", "додано", "розміщено", "публікац",
    "δημοσι", "ημερομηνία", "ανάρτηση",
    "diterbitkan", "dipublikasikan", "ditulis", "terbit", "diposting",
    "đăng ngày", "ngày đăng", "xuất bản", "đăng lúc",
    "发布", "發佈", "發布", "发表", "發表", "刊登", "日期", "公開", "投稿", "掲載", "配信", "作成",
    "등록", "입력", "게시", "작성", "발행", "승인",
    "نشر", "تاريخ", "פורסם", "تاريخ النشر",
    "publicat la", "data publicării", "објављено", "objavljeno", "публикувано",
];

/// Labels of a date of change.
#[rustfmt::skip]
const UPDATED: &[&str] = &[
    "update", "modified", "revised", "last edited", "edited on", "edited:", "last changed", "last reviewed", "reviewed on",
    "last review", "last modification", "changed on",
    "aktualisiert", "aktualisierung", "geändert", "änderung", "bearbeitet", "überarbeitet",
    "mis à jour", "mise à jour", "modifié", "modification", "actualisé",
    "actualizad", "actualización", "modificad", "atualizad", "atualização", "actualitzat",
    "aggiornat", "aggiornamento", "modificat", "ultima modifica",
    "bijgewerkt", "gewijzigd", "aangepast", "laatste wijziging",
    "uppdatera", "opdatere", "ændret", "senast ändrad", "oppdater", "endret", "päivitetty", "muokattu",
    "aktualizac", "zaktualizowan", "zmodyfikowan", "aktualizov", "změněno", "frissít", "módosít",
    "güncelle", "обновлен", "изменен", "изменён", "обновлён", "оновлен", "змінен", "ενημέρωση", "ενημερώθηκε", "τροποποί",
    "diperbarui", "diupdate", "cập nhật", "更新", "修改", "수정", "업데이트", "تحديث", "عدل", "עודכן", "actualizat", "ажурирано",
];

/// Labels of other dates.
#[rustfmt::skip]
const OTHER: &[&str] = &[
    "expires", "deadline", "valid until", "valid through", "effective date", "accessed", "retrieved", "archived", "born", "died",
    "joined", "member since", "registered", "last visit", "last seen", "due date", "starts on", "takes place", "next review",
    "comment on", "commented", "abgerufen", "gültig bis", "geboren", "gestorben", "mitglied seit", "registriert", "dabei seit",
    "anmeldeschluss", "einsendeschluss", "consulté", "inscrit", "membre depuis", "consultado", "miembro desde", "nacido",
    "consultato", "iscritto", "geraadpleegd", "lid sinds", "geldig tot", "zarejestrowany", "dołączył", "регистрация", "на форуме с",
    "kayıt", "üyelik",
];

/// Labels that follow a date.
#[rustfmt::skip]
const PUBLISHED_AFTER: &[&str] = &[
    "yayınlandı", "yayımlandı", "公開", "发布", "發布", "發佈", "发表", "發表", "投稿", "掲載", "配信", "입력", "등록", "게시", "közzétéve",
];
#[rustfmt::skip]
const UPDATED_AFTER: &[&str] = &["güncellendi", "更新", "修改", "수정"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_label_counts() {
        for (before, after, meant) in [
            ("Published on ", "", DateRole::Published),
            ("Published 4 March. Last updated: ", "", DateRole::Updated),
            ("Update: ", "", DateRole::Updated),
            ("Last edited by Ann. First published ", "", DateRole::Published),
            ("Опубликовано ", "", DateRole::Published),
            ("Paderborn, ", "", DateRole::Unknown),
            ("Born on ", "", DateRole::Other),
            ("Anmeldeschluss ist der ", "", DateRole::Other),
            ("", " tarihinde güncellendi", DateRole::Updated),
            ("", " 更新：", DateRole::Unknown),
            ("In spring, on ", " we sailed", DateRole::Unknown),
        ] {
            let found = match role_after(before) {
                DateRole::Unknown => role_before(after),
                role => role,
            };
            assert_eq!(found, meant, "{before}|{after}");
        }
    }
}
