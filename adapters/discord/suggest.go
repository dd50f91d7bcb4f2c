package discord

import (
	"context"
	"strings"

	"nod/adapters/discord/api"
	"nod/chat/markdown"
)

// Discord's limits of suggestions
// (https://discord.com/developers/docs/interactions/receiving-and-responding#interaction-response-object-autocomplete).
const (
	mostChoices = 25
	mostChoice  = 100
)

// suggest completes the name of a tool or a file that somebody types. There are 3 s
// for that, and no other answer: where nothing is known in time there is no
// suggestion, and the name can be typed all the same.
func (a *Adapter) suggest(ctx context.Context, in api.Interaction) error {
	choices := []choice{}
	typed := strings.ToLower(in.Focused())
	for _, name := range a.completions(ctx, in) {
		if len(choices) < mostChoices && name != "" && markdown.UTF16(name) <= mostChoice && strings.Contains(strings.ToLower(name), typed) {
			choices = append(choices, choice{name, name})
		}
	}
	return a.respond(ctx, in, answerChoices, map[string]any{"choices": choices})
}

// completions are the names that may be meant.
func (a *Adapter) completions(ctx context.Context, in api.Interaction) []string {
	ctx, cancel := context.WithTimeout(ctx, a.o.Defer)
	defer cancel()
	if heard, err := a.heardFrom(ctx, speakerOf(in), func() {}); err != nil || !heard || absence(in) != "" {
		return nil
	}
	if in.Data.Name == "tools" {
		return a.o.Tools
	}
	p, ok, err := a.spoken(ctx, in)
	if err != nil || !ok {
		return nil
	}
	names, err := a.o.Inbox.Files(ctx, api.ThreadID(p))
	if err != nil {
		a.log.Warn("suggest files", "error", err)
	}
	return names
}
