use super::*;
use crate::plan_from_brief;
use crate::test_support::brief;

fn stance(asked: &str, text: &str) -> Stance {
    let brief = brief(asked);
    let plan = plan_from_brief(&brief).unwrap();
    let mut scorer = RelevanceScorer::new(&brief, &plan).unwrap();
    let ids = scorer.ids(text);
    scorer.stance(text, &spaced(text), &ids)
}

#[test]
fn what_rarely_happens_is_no_yes_of_a_model() {
    let brief = brief("Do green roofs pay for their owners?");
    let plan = plan_from_brief(&brief).unwrap();
    let mut scorer = RelevanceScorer::new(&brief, &plan).unwrap();
    let mut of = |text| scorer.checked_stance(Stance::For, text);
    assert_eq!(of("A green roof rarely pays for its owner."), Stance::Neutral);
    assert_eq!(of("A green roof pays for its owner."), Stance::For);
    assert_eq!(of("A green roof pays for its owner. It rarely leaks."), Stance::For);
    let told = scorer.checked_stance(Stance::Neutral, "Green roofs do not pay for their owners.");
    assert_eq!(told, Stance::Against);
}

#[test]
fn what_is_said_of_one_thing_but_not_of_another_denies_it_of_the_other() {
    let (ants, slugs) =
        ("Does the spray reduce the number of ants?", "Does the spray reduce the number of slugs?");
    for (asked, text, wanted) in [
        (slugs, "The spray reduced the number of ants, but not that of slugs.", Stance::Against),
        (ants, "The spray reduced the number of ants, but not that of slugs.", Stance::For),
        (slugs, "The spray reduced the number of ants but not slugs.", Stance::Against),
        (slugs, "Stopping the spray reduced the number of slugs.", Stance::Neutral),
        (slugs, "Without the spray we reduced the number of slugs.", Stance::Neutral),
        (slugs, "Slugs were reduced by the spray, and so was their number.", Stance::For),
        (slugs, "At low doses the spray reduced the number of slugs.", Stance::For),
        (slugs, "Copies of the spray reduced the number of slugs.", Stance::Neutral),
        (slugs, "Stopping the spray reduced the number of ants, but not slugs.", Stance::Neutral),
        // Here copper did it, and there nothing is denied.
        (slugs, "Copper reduced the number of ants, but not that of slugs.", Stance::Neutral),
        (slugs, "The spray did not reduce the ants, but not for lack of slugs.", Stance::Neutral),
        (slugs, "The spray reduced the number of ants, but not because of slugs.", Stance::Neutral),
        (
            "Does lime mortar inhibit algae?",
            "Lime mortar inhibited the moss of walls, but not the algae.",
            Stance::Against,
        ),
    ] {
        assert_eq!(stance(asked, text), wanted, "{asked} {text}");
    }
}

#[test]
fn names_with_hyphens_and_vague_adjectives_are_read_like_others() {
    for (asked, text, wanted) in [
        (
            "Has ZX-351 been approved by the board?",
            "ZX-351 is approved by the board for use on walls.",
            Stance::For,
        ),
        (
            "Does lime mortar inhibit the moss of walls?",
            "Lime mortar inhibited the moss of walls, but not the algae.",
            Stance::For,
        ),
        (
            "Are NBPs good targets for cleaning?",
            "NBPs are a promising target for cleaning.",
            Stance::For,
        ),
        (
            "Are Q-brackets(Q4) possible points for gutters?",
            "Q4s are promising points for gutters.",
            Stance::For,
        ),
    ] {
        assert_eq!(stance(asked, text), wanted, "{asked} {text}");
    }
}

#[test]
fn a_sentence_decides_with_the_verb_and_the_amount_asked_about() {
    for (asked, text, wanted) in [
        (
            "Do solar panels work better on a green roof?",
            "Eleven of the green roofs carried solar panels that work.",
            Stance::Neutral,
        ),
        (
            "Do green roofs leak more often than bare roofs?",
            "Green roofs leak less often than bare flat roofs, because sun and frost do not reach the membrane.",
            Stance::Against,
        ),
        (
            "Is gravel associated with better drainage?",
            "Gravel under a lawn is associated with poor drainage.",
            Stance::Against,
        ),
        (
            "Is moss a positive sign on a lawn?",
            "Moss is a negative sign on every lawn.",
            Stance::Against,
        ),
        (
            "Do cracks in a wall only cause trouble with rain?",
            "Cracks in a wall cause trouble without rain, too.",
            Stance::Against,
        ),
        (
            "Do green roofs prevent floods?",
            "Green roofs reduce flooding from short summer storms, but they do not prevent it.",
            Stance::Against,
        ),
        (
            "Do green roofs prevent floods?",
            "A green roof holds a shower and fails in the flood of a storm.",
            Stance::Neutral,
        ),
        (
            "Is a flood test of 24 hours enough?",
            "A flood test of 48 hours with 5 cm of water is required before planting.",
            Stance::Against,
        ),
        (
            "Is a flood test of 24 hours enough?",
            "A flood test of 24 hours with 5 cm of water is sufficient before planting.",
            Stance::For,
        ),
        (
            "Do green roofs save heating energy?",
            "In buildings with less than 5 cm of insulation, green roofs saved 8 % of the heating energy.",
            Stance::For,
        ),
        (
            "Are green roofs bad for solar panels?",
            "Eleven of the green roofs carried solar panels.",
            Stance::Neutral,
        ),
        (
            "Do green roofs cool cities?",
            "Green roofs cool the roof and the rooms below it, but they do not measurably cool the air of cities.",
            Stance::Against,
        ),
        (
            "Do green roofs cool cities?",
            "Green roofs reduced the electricity used for cooling the top floor by 27 % on average.",
            Stance::Neutral,
        ),
        (
            "Did the leak come from the green roof?",
            "The leak was first blamed on the green roof.",
            Stance::Neutral,
        ),
    ] {
        assert_eq!(stance(asked, text), wanted, "{asked} {text}");
    }
}

#[test]
fn a_sentence_decides_with_what_is_claimed_of_the_object() {
    for (asked, text, wanted) in [
        (
            "Do green roofs cool cities?",
            "Flats under green roofs are cooler on hot days, according to Dr. Ekwueme, who heads the city's Office for Climate.",
            Stance::Neutral,
        ),
        (
            "Is a green roof a fire risk?",
            "The substrate of an extensive green roof emits 21 kg, mostly from firing expanded clay.",
            Stance::Neutral,
        ),
        ("Is a green roof a fire risk?", "A dry green roof is a fire risk.", Stance::For),
        (
            "Can any flat roof carry a green roof?",
            "Most concrete flat roofs can carry an extensive green roof without strengthening.",
            Stance::Against,
        ),
        (
            "Do I add snow to the wet weight?",
            "Snow is added to the saturated weight, not compared with it.",
            Stance::For,
        ),
        (
            "Do vaccines cause autism?",
            "The hypothesis that vaccines cause autism has been rejected by every large study.",
            Stance::Neutral,
        ),
        (
            "Does exercise reduce depression?",
            "There is no question that exercise reduces depression.",
            Stance::Neutral,
        ),
        ("Do green roofs only cool rooms?", "Green roofs cool rooms below them.", Stance::Neutral),
        (
            "Can any flat roof carry a green roof?",
            "Eleven of the green roofs carried solar panels.",
            Stance::Neutral,
        ),
        (
            "Can a concrete roof carry a green roof?",
            "A concrete roof can carry an extensive green roof without strengthening.",
            Stance::For,
        ),
    ] {
        assert_eq!(stance(asked, text), wanted, "{asked} {text}");
    }
}

#[test]
fn what_is_only_reported_doubted_or_imagined_decides_nothing() {
    let asked = "Do green roofs cause cancer?";
    for text in [
        "A blogger was fined for saying that green roofs cause cancer.",
        "A blogger was fined for claiming green roofs cause cancer.",
        "Critics say green roofs cause cancer.",
        "Green roofs cause cancer, critics say.",
        "Green roofs, critics say, cause cancer.",
        "Green roofs cause cancer, according to a leaflet of the tile makers.",
        "The minister told reporters at the fair on Friday that green roofs cause cancer.",
        "Green roofs are said to cause cancer.",
        "Many owners still believe that green roofs cause cancer.",
        "It is untrue that green roofs cause cancer.",
        "The belief that green roofs cause cancer is common among owners.",
        "No study has shown that green roofs cause cancer.",
        "This does not mean that green roofs cause cancer.",
        "There is no evidence that green roofs do not cause cancer.",
        "It is not true that green roofs do not cause cancer.",
        "In the novel, green roofs cause cancer in a whole city.",
        "In the film Moss, green roofs cause cancer in a whole city.",
        "If roofs were sprayed with asbestos, green roofs would cause cancer.",
    ] {
        assert_eq!(stance(asked, text), Stance::Neutral, "{text}");
    }
}

#[test]
fn what_a_study_shows_or_a_sentence_says_against_a_report_is_asserted() {
    let asked = "Do green roofs cause cancer?";
    for (text, wanted) in [
        ("A study of 900 flats showed that green roofs cause cancer.", Stance::For),
        ("The guidelines say that green roofs cause cancer.", Stance::For),
        ("We found that green roofs cause cancer.", Stance::For),
        ("It is false that green roofs cause cancer.", Stance::Against),
        ("It is not true that green roofs cause cancer.", Stance::Against),
        (
            "Critics claim that green roofs cause cancer, but green roofs do not cause cancer.",
            Stance::Against,
        ),
        (
            "Critics claim green roofs are safe, but studies show that green roofs cause cancer.",
            Stance::For,
        ),
        ("Neither green roofs nor gravel roofs cause cancer.", Stance::Against),
        ("Green roofs cause cancer, and owners say that they are ugly.", Stance::For),
    ] {
        assert_eq!(stance(asked, text), wanted, "{text}");
    }
}

#[test]
fn what_nearly_happened_or_is_no_longer_so_is_no_yes() {
    for (asked, text, wanted) in [
        ("Does the dam have cracks?", "It is a lie that the dam has cracks.", Stance::Neutral),
        ("Does the dam have cracks?", "The dam is free of cracks.", Stance::Against),
        (
            "Does the dam have cracks?",
            "The claim that the dam has cracks was withdrawn in 2019.",
            Stance::Neutral,
        ),
        (
            "Does the dam have cracks?",
            "The dam has cracks, according to a leaflet that was proved to be a forgery.",
            Stance::Neutral,
        ),
        ("Does the dam have cracks?", "The dam has cracks.", Stance::For),
        ("Was the dam sold?", "The dam was nearly sold in 2012.", Stance::Neutral),
        ("Was the dam sold?", "The dam was sold for nearly a million euros.", Stance::For),
        ("Did the dam break?", "The dam almost broke in 1987.", Stance::Neutral),
        (
            "Was the dam closed?",
            "The dam was to be closed in 2020, but the plan was dropped.",
            Stance::Neutral,
        ),
        ("Is the dam safe?", "The dam is too old to be safe.", Stance::Against),
        ("Is the dam safe?", "Few engineers believe that the dam is safe.", Stance::Neutral),
        (
            "Is the dam safe?",
            "The dam is safe, the owner claims; the inspector disagrees.",
            Stance::Neutral,
        ),
        ("Is the dam safe?", "The dam is said to be safe.", Stance::Neutral),
        ("Is the dam safe?", "The dam is safe.", Stance::For),
        (
            "Is the dam open to visitors?",
            "Before 1990 the dam was open to visitors.",
            Stance::Neutral,
        ),
        (
            "Do green roofs cool the street?",
            "Green roofs cool the roof and the rooms below it, but they do not measurably cool the air at street level.",
            Stance::Against,
        ),
        (
            "Do green roofs cool the air at street level?",
            "In the two streets beside the green roofs, the air was 0.4 °C cooler on hot afternoons than before, compared with streets without green roofs.",
            Stance::For,
        ),
        (
            "Do green roofs cool the air at street level?",
            "In the two streets without trees, the air was 0.4 °C cooler than before.",
            Stance::Neutral,
        ),
        (
            "Do green roofs cool the street?",
            "The air above green roofs is cooler, and below three storeys some of the cool air reaches the street.",
            Stance::Neutral,
        ),
    ] {
        assert_eq!(stance(asked, text), wanted, "{asked} {text}");
    }
}

#[test]
fn what_is_used_for_something_serves_it_and_opposites_deny() {
    let paint = "Can the paint reduce the corrosion of bridges?";
    for (asked, text, wanted) in [
        ("Can lime be used for damp walls?", "Lime is effective against damp walls.", Stance::For),
        ("Can lime be used for damp walls?", "Lime was tried on damp walls.", Stance::Neutral),
        (
            "Can lime be taken for damp walls?",
            "Lime is often used to mend damp walls.",
            Stance::For,
        ),
        ("Can lime be taken for damp walls?", "Lime is taken for damp walls.", Stance::For),
        ("Was the picture taken in Paris?", "The picture is used in Paris.", Stance::Neutral),
        (
            "Should lime be used for damp walls?",
            "The use of lime on damp walls was limited by its poor tolerability.",
            Stance::Against,
        ),
        (
            "Can lime be used for damp walls?",
            "Lime is not recommended for damp walls.",
            Stance::Against,
        ),
        (
            "Can a probe be used for the detection of leaks in flat roofs?",
            "A probe can detect leaks in flat roofs within an hour.",
            Stance::For,
        ),
        (
            "Is lime used as a paint for walls nowadays?",
            "As a paint for walls, lime has been used to protect mortar.",
            Stance::For,
        ),
        (
            paint,
            "The paint was cheap but was not effective in reducing the corrosion of bridges.",
            Stance::Against,
        ),
        (
            "Does shade promote moss on roofs?",
            "Shade suppresses moss on roofs and promotes ferns.",
            Stance::Against,
        ),
        (
            "Based on the trials, can a coating delay rust?",
            "A coating did not delay rust.",
            Stance::Against,
        ),
        (
            "Is there a dependence between slope and runoff of roofs?",
            "The survey is evidence for the independence of slope and runoff of roofs.",
            Stance::Against,
        ),
        (
            "Is there a way to distinguish sedum from houseleek in winter?",
            "Sedum is difficult to distinguish from houseleek in winter.",
            Stance::Against,
        ),
        (
            "Is slate described as a clay tile?",
            "Slate and brick are tiles of stone and clay, respectively.",
            Stance::Neutral,
        ),
        (
            "Is a water test the first test that should be performed on a flat roof?",
            "A water test is performed on a flat roof in June.",
            Stance::Neutral,
        ),
    ] {
        assert_eq!(stance(asked, text), wanted, "{asked} {text}");
    }
}

#[test]
fn what_is_said_of_something_else_neither_serves_nor_denies() {
    let walls = "Can lime be used for damp walls?";
    for (asked, text) in [
        ("Does vitamin D prevent rickets?", "Vitamin D deficiency causes rickets in children."),
        ("Does smoking cause lung cancer?", "Quitting smoking prevents lung cancer."),
        ("Are green roofs safe for birds?", "Glass is dangerous for birds near green roofs."),
        ("Does shade promote moss on roofs?", "Shade rarely suppresses moss on roofs."),
        ("Does shade promote moss on roofs?", "Shade makes it hard to suppress moss on roofs."),
        ("In children, is aspirin safe?", "Aspirin is safe for most adults."),
        (
            "Between slope and runoff, is there a correlation?",
            "There is a correlation between rain and wind.",
        ),
        (walls, "Lime is effective on dry walls."),
        (walls, "The survey indicated that lime harms damp walls."),
        (walls, "Removing lime is recommended for damp walls."),
        (
            "Is colchicine used in the treatment of gout?",
            "Colchicine is approved for the treatment of pericarditis.",
        ),
        ("Is the brick used for the dam safe?", "The brick used for the dam crumbles."),
        ("Can lime be used to treat damp walls?", "Whether lime works on damp walls is unknown."),
        ("Can a probe detect leaks?", "Leaks are difficult to detect without a probe."),
        (
            "Is a water test the first test that should be performed on a flat roof?",
            "A water test is performed on most flat roofs.",
        ),
    ] {
        assert_eq!(stance(asked, text), Stance::Neutral, "{asked} {text}");
    }
    for (asked, text, wanted) in [
        (
            "Can sedum be distinguished from houseleek?",
            "It is not possible to distinguish sedum from houseleek.",
            Stance::Against,
        ),
        (
            "Do green roofs cool rooms?",
            "Green roofs cool rooms that are hard to ventilate.",
            Stance::For,
        ),
        (
            "Do green roofs last longer than bare roofs?",
            "A green roof lasts longer than a bare roof.",
            Stance::For,
        ),
        (walls, "Lime is used to dry damp walls.", Stance::For),
    ] {
        assert_eq!(stance(asked, text), wanted, "{asked} {text}");
    }
}

#[test]
fn what_is_forbidden_refused_ended_or_said_of_another_is_no_yes() {
    for (asked, text, wanted) in [
        ("May I smoke in the garden?", "Smoking is forbidden in the garden.", Stance::Against),
        ("Is smoking forbidden in the garden?", "Smoking is forbidden in the garden.", Stance::For),
        (
            "Did Agnes Pell sign the lease?",
            "The secretary, Agnes Pell, refused to sign the lease.",
            Stance::Against,
        ),
        ("Did Agnes Pell sign the lease?", "Agnes Pell signed the lease.", Stance::For),
        ("Does the club keep bees?", "The club stopped keeping bees in 2019.", Stance::Against),
        (
            "Is the greenhouse full in winter?",
            "The greenhouse is empty in winter.",
            Stance::Against,
        ),
        ("Is the greenhouse full in winter?", "The greenhouse is full in winter.", Stance::For),
        ("Did the pump work in summer?", "The pump was out of order all summer.", Stance::Neutral),
        (
            "Does Agnes Pell play the organ?",
            "Agnes Pell's brother, Leo Pell, plays the organ at Saint Bride's.",
            Stance::Neutral,
        ),
        ("Do buses run to Tolm every hour?", "Buses run to Tolm every two hours.", Stance::Against),
        ("Do buses run to Tolm every hour?", "Buses run to Tolm every hour.", Stance::For),
        (
            "Has the baker opened a second shop?",
            "The baker hopes to open a second shop next year.",
            Stance::Neutral,
        ),
        (
            "Is Oatley's open on Monday?",
            "Oatley's, on Bridge Street, opens at 6 in the morning and is closed on Monday.",
            Stance::Against,
        ),
        (
            "Is the Copper Tin open on Monday?",
            "The Copper Tin, in the square, opens at 8 and is closed on Sunday and Monday.",
            Stance::Against,
        ),
        (
            "Is the Blue Heron restaurant open on Tuesday?",
            "The Blue Heron inn has a restaurant that is closed on Tuesday.",
            Stance::Against,
        ),
        ("Is the Blue Heron open on Friday?", "The Blue Heron is open on Friday.", Stance::For),
    ] {
        assert_eq!(stance(asked, text), wanted, "{asked} {text}");
    }
}

#[test]
fn what_only_looks_like_a_verdict_decides_nothing() {
    for (asked, text) in [
        (
            "Is montelukast used for asthma?",
            "Montelukast is used for asthma in children in whom inhaled steroids are poorly tolerated.",
        ),
        ("Is zinc used for colds?", "The study of zinc for colds was limited by its small sample."),
    ] {
        assert_ne!(stance(asked, text), Stance::Against, "{text}");
    }
    for (asked, text) in [
        ("Did Anna Berg steal the painting?", "Anna Berg found the stolen painting in a barn."),
        ("Did the Arle dam break in 1953?", "In 1953 broken stone was laid on the Arle dam."),
        ("Does Lake Orn freeze in winter?", "In winter, frozen fish is sold at Lake Orn."),
        ("Does ivy cool the wall?", "The wall with ivy was 0 °C cooler than the bare wall."),
        ("Does ivy cool the wall?", "The wall with ivy has a 3 kW air cooler."),
        (
            "Does mulch cool the soil?",
            "Soil under mulch was 2 °C warmer by night and 4 °C cooler by day.",
        ),
        ("Are there any bakeries in Kelby?", "There are no bakeries in Kelby that open on Sunday."),
    ] {
        assert_eq!(stance(asked, text), Stance::Neutral, "{asked} {text}");
    }
    let stolen = "The painting was stolen by Anna Berg.";
    assert_eq!(stance("Did Anna Berg steal the painting?", stolen), Stance::For);
    let stole = "Anna Berg stole the painting in May.";
    assert_eq!(stance("Did Anna Berg steal the painting?", stole), Stance::For);
}
