package attack

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"nod/internal/fakediscord"
	"nod/internal/fakeslack"
)

// The platforms on which a case can be played.
const (
	Slack   = "slack"
	Discord = "discord"
)

// platform is one, with people who write to the program directly.
type platform interface {
	section() map[string]any // of the configuration
	connected() bool
	// ask lets a new person n write to the program.
	ask(n int, text string) talk
	messages(in talk) []message
	decide(in talk, card string, yes bool)
	waitFor(ctx context.Context, holds func() bool) error
	close()
}

// talk is where a person asked.
type talk struct{ who, channel, root string }

// message is one of the program's: its texts as they stand.
type message struct {
	id    string
	texts []string
}

func newPlatform(name string) (platform, error) {
	if name == Discord {
		s, err := fakediscord.New(fakediscord.Options{NoLimits: true})
		if err != nil {
			return nil, err
		}
		return &discord{s, s.AddGuild("team")}, nil
	}
	s, err := fakeslack.New(fakeslack.Options{NoLimits: true})
	return &slack{s}, err
}

// slack is a workspace.
type slack struct{ s *fakeslack.Server }

func (p *slack) section() map[string]any {
	quick := map[string]int{}
	for _, m := range []string{"chat.postMessage", "chat.update", "reactions.add", "users.info", "agents.sessions.setStatus", "assistant.threads.setStatus", "conversations.info", "conversations.replies", "reactions.get"} {
		quick[m] = 60_000
	}
	return map[string]any{"app_token": p.s.AppToken(), "bot_token": p.s.BotToken(), "api_url": p.s.APIURL(), "limits": quick}
}

func (p *slack) connected() bool { return p.s.Sockets() > 0 }
func (p *slack) close()          { p.s.Close() }

func (p *slack) waitFor(ctx context.Context, holds func() bool) error {
	return p.s.WaitFor(ctx, func(*fakeslack.Server) bool { return holds() })
}

func (p *slack) ask(n int, text string) talk {
	who := fmt.Sprintf("U0P%05d", n)
	p.s.AddUser(fakeslack.User{ID: who, Name: fmt.Sprintf("person%d", n)})
	dm := p.s.DM(who)
	wire := strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")
	return talk{who, dm, p.s.Say(who, dm, wire.Replace(text))}
}

func (p *slack) decide(in talk, card string, yes bool) {
	p.s.React(in.who, in.channel, card, map[bool]string{true: "white_check_mark", false: "x"}[yes])
}

func (p *slack) messages(in talk) (out []message) {
	for _, m := range p.s.Messages(in.channel, in.root) {
		if m.Bot() && !m.Deleted {
			out = append(out, message{m.TS, append(textsOf(m.Blocks, "text"), m.Text)})
		}
	}
	return out
}

// discord is a Discord with a server that everybody is on.
type discord struct {
	s     *fakediscord.Server
	guild string
}

func (p *discord) section() map[string]any {
	return map[string]any{"token": p.s.Token(), "api_url": p.s.URL()}
}

func (p *discord) connected() bool { return len(p.s.Connections()) > 0 }
func (p *discord) close()          { p.s.Close() }

func (p *discord) waitFor(ctx context.Context, holds func() bool) error {
	return p.s.WaitFor(ctx, func(*fakediscord.Server) bool { return holds() })
}

func (p *discord) ask(n int, text string) talk {
	who := p.s.AddUser(fmt.Sprintf("person%d", n), "")
	p.s.Join(p.guild, who)
	dm := p.s.DM(who)
	return talk{who, dm, p.s.Say(who, dm, text)}
}

func (p *discord) decide(in talk, card string, yes bool) {
	p.s.React(in.who, card, map[bool]string{true: "✅", false: "❌"}[yes])
}

func (p *discord) messages(in talk) (out []message) {
	for _, m := range p.s.Posts(in.channel) {
		texts := textsOf(m.Components, "content")
		for i, text := range texts { // arguments stand in a fence
			texts[i] = strings.TrimSuffix(strings.TrimPrefix(text, "```json\n"), "\n```")
		}
		out = append(out, message{m.ID, append(texts, m.Content)})
	}
	return out
}

// textsOf are the texts of blocks or components, in order: the values of a name.
func textsOf(raw json.RawMessage, name string) (out []string) {
	var v any
	if json.Unmarshal(raw, &v) != nil {
		return nil
	}
	var walk func(any)
	walk = func(v any) {
		switch v := v.(type) {
		case []any:
			for _, e := range v {
				walk(e)
			}
		case map[string]any:
			if text, ok := v[name].(string); ok {
				out = append(out, text)
			}
			for _, k := range []string{"elements", "components", "text"} {
				if _, isText := v[k].(string); !isText {
					walk(v[k])
				}
			}
		}
	}
	walk(v)
	return out
}
