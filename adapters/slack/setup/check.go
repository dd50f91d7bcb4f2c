// Package setup says how a Slack app has to be set up, and whether it is.
package setup

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"

	slackgo "github.com/slack-go/slack"

	"nod/adapters/slack"
	"nod/adapters/slack/api"
	"nod/adapters/slack/layout"
	"nod/chat"
	"nod/chat/outbox"
	"nod/front"
)

// Check tries both tokens without changing anything, and says what it found: the
// workspace, the bot's name, that sockets can be opened, which forms of messages
// the workspace takes. The error names what Slack refuses, every scope that is
// missing, tokens that are of two apps, and rules that name nobody there.
func Check(ctx context.Context, o slack.Options, rules []string) ([]string, error) {
	w := api.New(o.Client(o.BotToken))
	who, err := w.Whoami(ctx, outbox.Approval)
	if err != nil {
		return nil, fmt.Errorf("try slack.bot_token: %w", withHint(err, "bot"))
	}
	found := []string{fmt.Sprintf("workspace %s (%s), as @%s", chat.FirstOf(who.Team, who.TeamID), who.URL, who.User)}
	said, err := checkScopes(who, o)
	found = append(found, said)
	err = errors.Join(err, sameApp(ctx, w, who, o.AppToken))
	if failed := api.New(o.Client(o.AppToken)).Call(ctx, api.Request{Method: "apps.connections.open", Args: url.Values{}, Priority: outbox.Approval}); failed != nil {
		err = errors.Join(err, fmt.Errorf("try slack.app_token: %w", withHint(failed, "app")))
	} else {
		found = append(found, "sockets can be opened")
	}
	found = append(found, tryForms(ctx, w)...)
	for _, rule := range slices.Compact(slices.Sorted(slices.Values(rules))) {
		note, failed := look(ctx, w, rule)
		found, err = append(found, note), errors.Join(err, failed)
	}
	notes, failed := tryChannels(ctx, w, o.Channels)
	found, err = append(found, notes...), errors.Join(err, failed)
	return slices.DeleteFunc(found, func(s string) bool { return s == "" }), err
}

// checkScopes compares the scopes of the token with those that are needed. Not
// every server says which there are.
func checkScopes(who api.Whoami, o slack.Options) (string, error) {
	if len(who.Scopes) == 0 {
		return "which scopes there are was not told", nil
	}
	var missing []string
	for _, s := range scopes(ManifestOptions{Groups: o.Groups, Flat: o.DM == slack.Flat, Direct: o.Direct, Search: o.Search}) {
		if !slices.Contains(who.Scopes, s) {
			missing = append(missing, s)
		}
	}
	if len(missing) > 0 {
		return "", fmt.Errorf("slack.bot_token lacks the scopes %s; add them (bot manifest slack) and install the app again", strings.Join(missing, ", "))
	}
	return "all scopes are there", nil
}

// appOf is the app that an app-level token is of: xapp-1-A….
var appOf = regexp.MustCompile(`^xapp-[0-9]+-(A[A-Z0-9]+)-`)

// sameApp says whether both tokens are of one app: else the bot hears nothing.
func sameApp(ctx context.Context, w *api.Client, who api.Whoami, token string) error {
	named := appOf.FindStringSubmatch(token)
	if named == nil || who.BotID == "" {
		return nil
	}
	var bot struct {
		App string `json:"app_id"`
	}
	err := w.Call(ctx, api.Request{Method: "bots.info", Args: url.Values{"bot": {who.BotID}}, Priority: outbox.Approval, Answer: &bot, Field: "bot"})
	if err != nil || bot.App == "" || bot.App == named[1] {
		return nil // what can't be found out is no mistake
	}
	return fmt.Errorf("slack.app_token is of the app %s and slack.bot_token of the app %s; copy both from one app", named[1], bot.App)
}

// tryForms asks the workspace whether it takes what nod sends, without sending it
// (https://docs.slack.dev/reference/methods/blocks.validate).
func tryForms(ctx context.Context, w *api.Client) []string {
	var refused []string
	taken := 0
	for _, s := range samples() {
		for n, blocks := range s.forms {
			raw, err := json.Marshal(blocks)
			if err == nil {
				err = w.Call(ctx, api.Request{Method: "blocks.validate", Args: url.Values{"blocks": {string(raw)}}, Priority: outbox.Approval})
			}
			var said *api.Error
			switch {
			case err == nil:
				taken++
			case api.Code(err) == "unknown_method":
				return []string{"which forms of messages it takes can't be asked"}
			case errors.As(err, &said):
				refused = append(refused, fmt.Sprintf("%s, form %d: %v", s.name, n+1, said))
			default:
				return []string{"which forms of messages it takes could not be asked: " + err.Error()}
			}
		}
	}
	if len(refused) == 0 {
		return []string{"it takes all forms of messages"}
	}
	return []string{fmt.Sprintf("it takes %d forms of messages and not these, for which a plainer one follows: %s", taken, strings.Join(refused, "; "))}
}

// everything is a card with all that there is on it.
var everything = layout.Card{Again: true}

func cardOf(p *chat.Approval) *front.Card { return layout.Drawn.Message(chat.Post{Approval: p}).Card }

// sample is a message such as nod sends, in its forms with blocks.
type sample struct {
	name  string
	forms [][]slackgo.Block
}

func sampled(name string, p layout.Part) sample {
	s := sample{name: name}
	for _, f := range p.On("") {
		if len(f.Blocks) > 0 {
			s.forms = append(s.forms, f.Blocks)
		}
	}
	return s
}

func samples() []sample {
	steps := chat.Steps{Turn: "1", Done: true, Status: "Done", Items: []chat.Step{{Thought: "I look it up.", Calls: []chat.ToolCall{
		{Tool: "search", Args: `{"q":"go"}`, State: chat.CallDone, Observation: "found"},
	}}}}
	ask := chat.Approval{
		Call: "1", Tool: "deploy", Args: `{"env":"prod"}`, Digest: "0123456789ab", Requester: chat.User{ID: "U012345", Name: "ada"},
		Approvers: []string{chat.Requester}, Quorum: 1, Approve: []string{"✅"}, Deny: []string{"❌"}, Number: 1, Headline: "Approval 1: deploy",
	}
	done := ask
	done.Outcome, done.Headline, done.By = chat.Approved, "Approved by ada · done in 2 s", []chat.User{ask.Requester}
	answer := chat.Text{Markdown: "# A *title*\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n```go\nx := 1\n```"}
	again := answer
	again.Earlier = &chat.Earlier{Try: 1, Markdown: answer.Markdown}
	answers := layout.AnswerParts(&answer, everything)
	stepped := answer
	stepped.Steps = &steps
	return []sample{
		sampled("answers", answers[0]),
		sampled("steps", layout.StepsPart(chat.ThreadID{Platform: slack.Platform}, &steps)),
		sampled("approvals", layout.ApprovalPart(&ask, cardOf(&ask), everything)),
		sampled("decided approvals", layout.ApprovalPart(&done, cardOf(&done), everything)),
		sampled("long arguments", layout.ArgsParts(ask.Args)[0]),
		{"questions about an answer", [][]slackgo.Block{slack.Confided(new(front.Front).Wonder(chat.ThreadID{}, ask.Requester, chat.MessageRef{ID: "1.000000"}))}},
		sampled("answers in the place of another", layout.Folding(layout.AnswerParts(&again, everything), answers, &again, "https://example.org/")[0][:1]),
		sampled("answers with their steps", layout.AnswerParts(&stepped, everything)[0][:1]),
	}
}

// withHint adds to what Slack says what to do about it.
func withHint(err error, kind string) error {
	switch c := api.Code(err); {
	case c == "not_allowed_token_type" && kind == "bot":
		return fmt.Errorf("%w: it must be the bot token, which begins with xoxb-", err)
	case c == "not_allowed_token_type" || c == "missing_scope":
		return fmt.Errorf("%w: it must be an app-level token with the scope connections:write, which begins with xapp-", err)
	case slices.Contains(api.FatalCodes, c):
		return fmt.Errorf("%w: copy the token again", err)
	}
	return err
}

// look looks up whom or which place a rule means. Another platform's is nobody here.
func look(ctx context.Context, w *api.Client, rule string) (note string, failed error) {
	kind, id, _ := strings.Cut(rule, ":")
	ask := func(method, key string, answer any) error {
		return w.Call(ctx, api.Request{Method: method, Args: url.Values{key: {id}}, Priority: outbox.Approval, Answer: answer})
	}
	var err error
	switch {
	case id == "" || id[0] < 'A': // a number is Discord's
		return "", nil
	case kind == "user" || kind == "bot":
		var said struct {
			User, Bot struct {
				Deleted bool `json:"deleted"`
			}
		}
		if kind == "bot" && id[0] == 'B' { // of a program; its account has a user id
			err = ask("bots.info", "bot", &said)
		} else {
			err = ask("users.info", "user", &said)
		}
		if said.User.Deleted || said.Bot.Deleted {
			return fmt.Sprintf("%s is a deactivated account", rule), nil
		}
	case kind == "group":
		var users []string
		if users, err = w.Members(ctx, id); err == nil && len(users) == 0 {
			return fmt.Sprintf("the user group %s has no members: nobody in it can approve", id), nil
		}
	case kind == "channel":
		var c api.Channel
		if c, err = w.Channel(ctx, id, outbox.Approval); c.Member != nil && !c.Has() {
			return fmt.Sprintf("the bot is not in #%s (%s): invite it there", chat.Flat(c.Name), id), nil
		}
	}
	switch api.Code(err) {
	case "user_not_found", "user_not_visible", "bot_not_found", "channel_not_found":
		return "", fmt.Errorf("%s: the bot sees none with this id: correct it, or invite the bot there", rule)
	case api.NoGroup:
		return "", fmt.Errorf("%s: the user group is disabled, or there is none: nobody in it can approve", rule)
	}
	if err != nil {
		return fmt.Sprintf("%s can't be looked up (%s)", rule, err), nil
	}
	return "", nil
}

// tryChannels says whether the bot can write in the channels in which cards are to
// stand. It posts nothing, and so can't know what a workspace's own rules forbid.
func tryChannels(ctx context.Context, w *api.Client, ids []string) (found []string, failed error) {
	for _, id := range ids {
		if !slack.ChannelID.MatchString(id) {
			continue // another platform's
		}
		c, err := w.Channel(ctx, id, outbox.Approval)
		switch {
		case api.Code(err) == "channel_not_found":
			err = fmt.Errorf("approvals.notify: there is no channel %s that the bot sees: invite it there, or correct the id", id)
		case err != nil:
			err = fmt.Errorf("approvals.notify: look at channel %s: %w", id, err)
		case c.Archived:
			err = fmt.Errorf("approvals.notify: channel #%s (%s) is archived", chat.Flat(c.Name), id)
		case !c.Has():
			err = fmt.Errorf("approvals.notify: the bot is not in channel #%s (%s): invite it there", chat.Flat(c.Name), id)
		default:
			found = append(found, fmt.Sprintf("approvals also go to #%s, where the bot is a member; whether a rule of the workspace keeps it from writing there can't be asked", chat.Flat(c.Name)))
		}
		failed = errors.Join(failed, err)
	}
	return found, failed
}
