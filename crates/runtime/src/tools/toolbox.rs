//! The tools of one agent: a choice of names over a context. A choice can be narrowed, never widened.

use super::outcome::Failure;
use super::{CancelToken, EffectClass, Tool, ToolContext, ToolOutcome, perform};
use fugato_model::chat::{ToolCall, ToolSpec};

/// The tools an agent may use, and where.
#[derive(Clone, Debug)]
pub struct ToolBox {
    tools: Vec<&'static Tool>,
    context: ToolContext,
}

impl ToolBox {
    /// Every tool that the access of the context allows.
    pub fn new(context: ToolContext) -> Self {
        let tools = Tool::all().filter(|tool| tool.is_for(context.access)).collect();
        Self { tools, context }
    }

    /// Keeps only the tools of these names. Names that are not in the box add nothing.
    #[must_use]
    pub fn only<Name: AsRef<str>>(mut self, names: &[Name]) -> Self {
        self.tools.retain(|tool| names.iter().any(|name| name.as_ref() == tool.name));
        self
    }

    /// Takes the tools of these names out.
    #[must_use]
    pub fn without<Name: AsRef<str>>(mut self, names: &[Name]) -> Self {
        self.tools.retain(|tool| !names.iter().any(|name| name.as_ref() == tool.name));
        self
    }

    pub fn has(&self, name: &str) -> bool {
        self.tools.iter().any(|tool| tool.name == name)
    }

    pub fn names(&self) -> impl Iterator<Item = &'static str> {
        self.tools.iter().map(|tool| tool.name)
    }

    pub fn specs(&self) -> Vec<ToolSpec> {
        self.tools.iter().map(|tool| tool.spec()).collect()
    }

    pub fn class_of(&self, name: &str) -> Option<EffectClass> {
        self.tools.iter().find(|tool| tool.name == name).map(|tool| tool.class)
    }

    pub fn context(&self) -> &ToolContext {
        &self.context
    }

    /// As [`perform`], for the tools in the box only.
    pub async fn perform(
        &self,
        call: &ToolCall,
        cancel: CancelToken,
        on_output: &mut (dyn FnMut(&str) + Send),
    ) -> ToolOutcome {
        if self.has(&call.name) {
            return perform(call, &self.context, cancel, on_output).await;
        }
        // The same answer whether the tool exists elsewhere or not.
        let names: Vec<_> = self.names().collect();
        let known = if names.is_empty() {
            "there are none".into()
        } else {
            format!("known are {}", names.join(", "))
        };
        Failure::new(format!("unknown tool `{}`; {known}", call.name))
            .into_outcome(self.context.limits.inline_bytes)
    }
}
