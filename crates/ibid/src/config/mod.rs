//! Typed settings in layers: defaults < user file < project file < environment < flags. Every value has an origin.
//!
//! [`table::SETTINGS`] lists the settings, [`layers`] finds their values, [`value`] validates them, [`settings`] types them. [`effort`] has
//! the presets, [`budget_spec`] parses `$2|15m|60calls`, [`mod@file`] writes configuration files.
pub mod budget_spec;
pub mod default_model;
pub mod effort;
mod evidence;
pub mod file;
pub mod layers;
pub mod mcp_sources;
mod origin;
mod overrides;
mod resolved;
pub mod settings;
pub mod table;
pub mod telemetry;
pub mod value;
mod variables;

pub use layers::{Flag, LoadedConfig, ProcessEnv};
pub use origin::SettingOrigin;
pub use resolved::ResolvedSettings;
pub use settings::{
    FleetConfig, JudgeConfig, McpConfig, McpTransport, ModelEndpoint, ServeConfig, ServiceConfig,
    Settings, VectorConfig, WebConfig,
};
pub use table::{SETTINGS, Setting};
pub use telemetry::TelemetryConfig;
pub use value::SecretString;
pub use variables::EnvVars;
