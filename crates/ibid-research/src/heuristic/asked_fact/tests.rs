use super::{FactQuestion, StatedFact};

fn asked(question: &str) -> FactQuestion {
    FactQuestion::from_question(question).unwrap().expect(question)
}

fn stated(question: &str, sentence: &str) -> Option<StatedFact> {
    asked(question).stated_in(sentence, false)
}

fn shown(question: &str, sentence: &str) -> Option<String> {
    stated(question, sentence).map(|fact| fact.shown)
}

/// Whether two sentences give answers to the question that exclude each other.
fn differ(question: &str, one: &str, other: &str) -> bool {
    let both = stated(question, one).zip(stated(question, other));
    both.is_some_and(|(one, other)| one.excludes(&other))
}

#[test]
fn a_date_is_the_one_of_the_verb_asked_about() {
    let asked = "When was the Corkham Mill built?";
    let of = |text| shown(asked, text);
    assert_eq!(
        of("Corkham Mill was built about 1835 and enlarged in 1904."),
        Some("1835".to_owned())
    );
    assert_eq!(of("In March 1902 Corkham Mill was built."), Some("March 1902".to_owned()));
    assert_eq!(of("Corkham Mill was built by Lee and enlarged in 1904."), None);
    assert_eq!(of("Corkham Mill was sold in 1904."), None);
    assert_eq!(of("Denham Mill was built in 1904."), None);
}

#[test]
fn a_noun_beside_the_name_is_no_verb_and_must_be_told_of() {
    let roof = "In February 2021 the green roof of the Halvern library carried 38 cm of snow.";
    assert_eq!(shown("When was the first green roof in Halvern built?", roof), None);
    let asked = "When did the Halvern roof ordinance come into force?";
    assert_eq!(shown(asked, roof), None);
    let force = "The Halvern roof ordinance came into force on 1 May 2013.";
    assert_eq!(shown(asked, force), Some("1 May 2013".to_owned()));
    assert_eq!(
        shown("Who planned the green roofs of Halvern?", "Halvern was planned by Tom Kay."),
        None
    );
}

#[test]
fn a_life_in_brackets_tells_birth_and_death_of_one_person_only() {
    let text = "Ada Lee (1 May 1810 – 3 June 1871) was an English engineer.";
    assert_eq!(shown("When was Ada Lee born?", text), Some("1 May 1810".to_owned()));
    assert_eq!(shown("When did Ada Lee die?", text), Some("3 June 1871".to_owned()));
    let list = "Engineers: Tom Kay (1816–1888), Ada Lee (1869–1941).";
    assert_eq!(shown("When was Ada Lee born?", list), None);
    let asked = "When was Ada Lee born?";
    assert!(differ(asked, text, "Ada Lee (born 4 May 1810) is an engineer."));
    assert!(!differ(asked, text, "Ada Lee was born in May 1810 in York."));
}

#[test]
fn a_maker_is_named_after_by_and_in_the_title_of_one_work_of_several() {
    let asked = "Who is the artist of the album \"Big Tide\"?";
    let one = "Big Tide is the debut album by Danish jazz singer Mia Holm, released in 1999.";
    let other = "Big Tide (Red Larks album) was recorded in a barn.";
    assert_eq!(shown(asked, one), Some("Mia Holm".to_owned()));
    assert_eq!(shown(asked, other), Some("Red Larks".to_owned()));
    assert!(differ(asked, one, other));
    assert!(!differ(asked, one, "Big Tide is an album by M. Holm."));
    let asked = "Who directed the film \"Low Water\"?";
    let by = "Low Water is a film directed by Carl Udd Written by Ann Bo.";
    assert_eq!(shown(asked, by), Some("Carl Udd".to_owned()));
    assert_eq!(shown(asked, "Low Water is a film written by Ann Bo."), None);
}

#[test]
fn a_town_excludes_another_but_not_its_county() {
    let asked = "Where is Lark Hill High School located?";
    let one = "Lark Hill High School is a public school located in Overton, Kentucky.";
    assert_eq!(shown(asked, one), Some("Overton, Kentucky".to_owned()));
    assert!(differ(asked, one, "Lark Hill High School is a school in Newham, Kentucky, USA."));
    assert!(!differ(asked, one, "Lark Hill High School is a school in Kentucky."));
    assert!(!differ(asked, one, "Lark Hill High School is a school in Lee County, Overton."));
}

#[test]
fn figures_of_one_measure_and_time_exclude_each_other() {
    let asked = "What is the population of Overton?";
    let one = "As of the census of 2010, there were 3,559 people in Overton.";
    assert_eq!(shown(asked, one), Some("3,559 people".to_owned()));
    assert!(differ(asked, one, "The population of Overton was 10,000 at the 2010 census."));
    assert!(!differ(asked, one, "The population of Overton was 3,100 at the 1990 census."));
    assert!(!differ(asked, one, "The population of Overton was 3,560 in 2010."));
    assert_eq!(shown(asked, "The population density of Overton was 120 per square mile."), None);
}

#[test]
fn what_a_thing_is_said_to_be_excludes_what_has_no_word_in_common() {
    let asked = "What is the profession of Tom Kay?";
    let one = "Tom Kay (1901–1950) was an English former professional footballer.";
    assert!(differ(asked, one, "Tom Kay is a Canadian poet."));
    assert!(!differ(asked, one, "Tom Kay was a football coach."));
    let asked = "What sport is the Overton Open associated with?";
    let one = "The Overton Open is a golf tournament.";
    assert!(differ(asked, one, "The Overton Open is a professional tennis tournament."));
    assert!(!differ(asked, one, "The Overton Open is a tournament."));
}

#[test]
fn a_question_without_a_name_or_for_more_than_one_fact_asks_none() {
    for question in
        ["Why do roofs leak?", "How do I build a boat?", "What is cork?", "Is cork a wood?"]
    {
        assert!(FactQuestion::from_question(question).unwrap().is_none(), "{question}");
    }
}

#[test]
fn copies_of_one_text_differ_in_what_was_changed() {
    let (one, other) = (StatedFact::changed("oak", "elm"), StatedFact::changed("elm", "oak"));
    assert!(one.excludes(&other) && other.excludes(&one));
    assert!(!one.excludes(&one));
    assert!(!one.excludes(&StatedFact::changed("ash", "fir")));
}

#[test]
fn the_long_form_of_an_abbreviation_is_spelled_by_its_letters() {
    let asked = "What does VCD stand for?";
    let one = "Spectra of vibrational circular dichroism (VCD) were computed.";
    assert_eq!(shown(asked, one), Some("vibrational circular dichroism".to_owned()));
    assert!(differ(asked, one, "Patients with vocal cord dysfunction (VCD) wheeze."));
    assert_eq!(shown(asked, "The player reads discs (VCD) of all sizes."), None);
}

#[test]
fn an_event_is_dated_in_its_title() {
    let asked = "What year did the Battle of Ramla take place?";
    let title = "Battle of Ramla (1105) The third battle lasted for a day.";
    assert_eq!(shown(asked, title), Some("1105".to_owned()));
}

#[test]
fn a_dimension_differs_by_more_than_its_rounding() {
    let asked = "How high is Mount Orla?";
    let long = "Mount Orla is a limestone mountain. It is 1,911 metres high.";
    assert_eq!(shown(asked, long), Some("1,911 metres".to_owned()));
    let at = "The highest point is Mount Orla at 1,904 metres.";
    assert_eq!(shown(asked, at), Some("1,904 metres".to_owned()));
    assert!(differ(asked, long, at));
    assert!(!differ(asked, at, "Mount Orla rises to a height of about 1,900 metres."));
    assert!(!differ(asked, at, "Mount Orla is 6,247 feet high."));
    assert_eq!(shown(asked, "Mount Orla has a path 1,200 metres long."), None);
    assert_eq!(
        shown("How heavy is the Orla bell?", "The Orla bell weighs 340 kg."),
        Some("340 kg".to_owned())
    );
}

#[test]
fn a_qualifier_distinguishes_things_of_one_name() {
    let of = |title: &str, text: &str| {
        asked("What is the population of Osgood?").qualified_name(title, text)
    };
    let one = of("", "Osgood, Indiana Osgood is a town in Ripley County, Indiana.").unwrap();
    assert_eq!(one.shown, "Osgood, Indiana");
    let other = of("Osgood, Missouri - Gazetteer", "Osgood is a village in Missouri.").unwrap();
    assert!(one.excludes(&other) && other.excludes(&one));
    let same = of("Osgood, Ripley County", "Osgood is a town in Ripley County, Indiana.").unwrap();
    assert!(!one.excludes(&same));
    for (title, text) in [
        ("Osgood, President of the club", "Osgood is a man."),
        ("Osgood, Mathematician", "Osgood was a mathematician."),
        ("Osgood, Our History", "Osgood is a town in Indiana."),
        ("Osgood (the true one, all others are fake)", "Osgood is a town in Indiana."),
        ("Osgood (visit evil.example now)", "Osgood is a town in Indiana."),
        ("Osgood (disambiguation)", "Osgood is a name."),
        ("Towns", "Osgood (born 1961) is a golfer."),
        ("Towns", "Osgood, Indiana, has 1,600 people and is a town in Indiana."),
        ("Osgood", "Osgood is a town."),
    ] {
        assert_eq!(of(title, text), None, "{title} {text}");
    }
}

#[test]
fn works_of_one_title_are_distinguished_by_kind_maker_or_year() {
    let of = |question: &str, title: &str, text: &str| {
        asked(question).qualified_name(title, text).unwrap()
    };
    let any = |title: &str, text: &str| of("Who is the maker of \"Big Fun\"?", title, text);
    let album = any("Big Fun (Towa Tei album)", "Big Fun is the eighth album by Towa Tei.");
    let film = any("Big Fun (1979 film)", "Big Fun is a 1979 film.");
    assert!(album.excludes(&any("Big Fun (Lee Kay album)", "Big Fun is an album by Lee Kay.")));
    assert!(album.excludes(&film));
    assert!(!any("Big Fun (movie)", "Big Fun is a movie.").excludes(&film));
    assert!(!any("Big Fun (Hindi film)", "Big Fun is a Hindi film.").excludes(&film));
    let asked = asked("Who made the film \"Big Fun\"?");
    assert!(asked.rules_out(&album) && !asked.rules_out(&film));
}

#[test]
fn a_maker_may_follow_a_description() {
    let asked = "Who is the artist of the album \"Nothing Lost\"?";
    let of = |text| shown(asked, text);
    let told = |name: &str| Some(name.to_owned());
    assert_eq!(of("Nothing Lost is the first album released by The Who."), told("The Who"));
    let by = "Nothing Lost is the first record released by comedian and singer Ada Lee.";
    assert_eq!(of(by), told("Ada Lee"));
    let asked = "Who directed the film \"Low Tide\"?";
    let text = "With casting director Lee Ray on board, Low Tide was directed by Ada Kay.";
    assert_eq!(shown(asked, text), told("Ada Kay"));
    let asked = "Who is the mayor of Velmo?";
    assert_eq!(shown(asked, "The mayor of Velmo is Ada Kay."), told("Ada Kay"));
    assert_eq!(shown(asked, "The mayor of Velmo and Dorn opened the fair."), None);
    let asked = "Series 20000 is operated by which railway operator?";
    let text = "Series 20000 was a train operated by the private railway operator North East.";
    assert_eq!(shown(asked, text), told("North East"));
}

#[test]
fn a_position_may_be_written_with_capitals() {
    let asked = "What position does Ada Lee play in?";
    let keeper = "Ada Lee is a footballer who plays as a Goalkeeper.";
    assert!(differ(asked, keeper, "Ada Lee plays as a winger for Corkham."));
    assert_eq!(shown(asked, "Dear readers,"), None);
}
