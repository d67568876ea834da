//! One question after another, plans that people edit, and their word on them.
mod approved;
mod aside;
mod followed;
mod planned;
mod said;
mod steered;
