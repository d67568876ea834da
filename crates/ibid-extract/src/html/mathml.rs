//! Renders a MathML formula on one line: `p=3.2×10^5`. Annotations for machines are left out.
use super::dom::{Dom, NodeData, NodeId};

/// Bytes of one formula; the rest is left out.
const MAX_FORMULA_BYTES: usize = 2_000;

/// The visible text of a `math` element.
pub(super) fn to_text(dom: &Dom, id: NodeId) -> String {
    let mut out = String::new();
    write(dom, id, &mut out);
    out
}

fn write(dom: &Dom, id: NodeId, out: &mut String) {
    if out.len() > MAX_FORMULA_BYTES {
        return;
    }
    if let NodeData::Text(text) = dom.data(id) {
        let visible = text.chars().filter(|c| !('\u{2060}'..='\u{2064}').contains(c));
        let text: String = visible.collect();
        // Spaces count only in words.
        let in_words = dom.parent(id).is_some_and(|parent| dom.name(parent) == "mtext");
        out.push_str(if in_words { &text } else { text.trim() });
        return;
    }
    let parts: Vec<NodeId> = dom
        .children(id)
        .filter(|child| !matches!(dom.data(*child), NodeData::Text(text) if text.trim().is_empty()))
        .collect();
    match (dom.name(id), parts.as_slice()) {
        ("annotation" | "annotation-xml" | "mphantom" | "malignmark", _) => {}
        ("msup" | "mover", [base, raised]) => {
            write(dom, *base, out);
            grouped(dom, *raised, "^", out);
        }
        ("msub" | "munder", [base, lowered]) => {
            write(dom, *base, out);
            grouped(dom, *lowered, "_", out);
        }
        ("msubsup" | "munderover", [base, lowered, raised]) => {
            write(dom, *base, out);
            grouped(dom, *lowered, "_", out);
            grouped(dom, *raised, "^", out);
        }
        ("mfrac", [above, below]) => {
            grouped(dom, *above, "", out);
            grouped(dom, *below, "/", out);
        }
        ("msqrt", _) => {
            out.push_str("√(");
            parts.iter().for_each(|part| write(dom, *part, out));
            out.push(')');
        }
        ("mroot", [inside, degree]) => {
            grouped(dom, *inside, "", out);
            out.push_str("^(1/");
            write(dom, *degree, out);
            out.push(')');
        }
        ("mtr" | "mlabeledtr" | "mtd" | "mspace", _) => {
            if !out.is_empty() && !out.ends_with(' ') {
                out.push(' ');
            }
            parts.iter().for_each(|part| write(dom, *part, out));
        }
        _ => parts.iter().for_each(|part| write(dom, *part, out)),
    }
}

/// Appends `sign` and a part of a formula, in brackets unless it is a single symbol, number or word.
fn grouped(dom: &Dom, id: NodeId, sign: &str, out: &mut String) {
    let mut part = String::new();
    write(dom, id, &mut part);
    if part.is_empty() {
        return;
    }
    let one = part.chars().count() == 1
        || part.chars().all(char::is_numeric)
        || part.strip_prefix(['-', '−']).is_some_and(|rest| rest.chars().all(char::is_numeric))
        || part.chars().all(char::is_alphabetic);
    out.push_str(sign);
    if one {
        out.push_str(&part);
    } else {
        out.push('(');
        out.push_str(&part);
        out.push(')');
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_formula_is_what_is_seen_of_it() {
        let of = |inside: &str| {
            let dom = Dom::parse(&format!(
                "<p><math alttext='hidden'><semantics>{inside}<annotation>tex</annotation></semantics></math></p>"
            ));
            let math =
                dom.descendants(dom.root()).find(|descendant| dom.name(*descendant) == "math");
            to_text(&dom, math.unwrap())
        };
        let power = "<mrow><mi>p</mi> <mo>=</mo> <mn>3.2</mn><mo>×</mo><msup><mn>10</mn><mn>5</mn></msup></mrow>";
        assert_eq!(of(power), "p=3.2×10^5");
        let fraction = "<mfrac><mrow><mi>a</mi><mo>+</mo><mn>1</mn></mrow><msub><mi>x</mi><mn>2</mn></msub></mfrac>";
        assert_eq!(of(fraction), "(a+1)/(x_2)");
        let root = "<msqrt><mi>n</mi></msqrt><mtext> for all </mtext><mi>n</mi>";
        assert_eq!(of(root), "√(n) for all n");
        assert_eq!(of("<mphantom><mi>x</mi></mphantom>"), "");
    }
}
