package fakellm

import (
	"fmt"
	"regexp"
)

// callID is what Mistral takes of a call's id.
var callID = regexp.MustCompile(`^[a-zA-Z0-9]{9}$`)

// strict says why a strict server would refuse a request; "" when none would.
// The words are theirs: of the templates of Qwen and Gemma, of LiteLLM before
// Bedrock and Anthropic, of Mistral and of OpenAI.
func strict(req Request) string {
	called := false
	open := map[string]bool{}
	for i, m := range req.Messages {
		switch {
		case m.Role == "system" && i > 0:
			return "System message must be at the beginning."
		case m.Role == "user" && i > 0 && req.Messages[i-1].Role == "user":
			return "Conversation roles must alternate user/assistant/user/assistant/..."
		case m.Role == "tool" && !open[m.CallID]:
			return fmt.Sprintf("tool_call_id %q was not found in the tool_calls of the message before.", m.CallID)
		case m.Role != "tool" && len(open) > 0:
			return "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'."
		}
		delete(open, m.CallID)
		for _, c := range m.Calls {
			called, open[c.ID] = true, true
			if !callID.MatchString(c.ID) {
				return "Tool call id was " + c.ID + " but must be a-z, A-Z, 0-9, with a length of 9."
			}
		}
	}
	if called && len(req.Tools) == 0 {
		return "UnsupportedParamsError: the provider doesn't support tool calling without `tools=` param specified."
	}
	return ""
}
