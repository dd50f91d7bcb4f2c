package attack

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
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
	// ask lets a new person n write to the program, and say brings what they say then.
	ask(n int, c Case) talk
	say(in talk, text string)
	again(in talk, answer string) // has them ask for another try
	messages(in talk) []message
	decide(in talk, card string, yes bool)
	rings(in talk) bool // whether the program called anybody but the person
	waitFor(ctx context.Context, holds func() bool) error
	close()
}

// talk is where a person asked.
type talk struct{ who, channel, root string }

// asker is the name of the person n.
func (c Case) asker(n int) string {
	if c.order.Via == byName {
		return c.order.Text
	}
	return fmt.Sprintf("person%d", n)
}

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
		eve := s.AddUser("eve", "")
		return &discord{s, s.AddGuild("team", eve), eve}, nil
	}
	s, err := fakeslack.New(fakeslack.Options{NoLimits: true})
	if err != nil {
		return nil, err
	}
	s.AddUser(fakeslack.User{ID: stranger, Name: "eve"})
	s.AddChannel(fakeslack.Channel{ID: far, Name: "far", Members: []string{stranger}})
	return &slack{s}, nil
}

// stranger writes in a channel that the program is not in.
const stranger, far = "U0EVE", "C0FAR"

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

func (p *slack) ask(n int, c Case) talk {
	who := fmt.Sprintf("U0P%05d", n)
	p.s.AddUser(fakeslack.User{ID: who, Name: c.asker(n)})
	dm := p.s.DM(who)
	line := fakeslack.Line{User: who, Channel: dm, Text: wire.Replace(c.prompt)}
	switch c.order.Via {
	case byForward:
		return talk{who, dm, p.s.Forward(line, far, p.s.Say(stranger, far, wire.Replace(c.order.Text)))}
	case byFile:
		line.Files = []fakeslack.Upload{{Name: "notes.txt", Data: []byte(c.order.Text)}}
	}
	return talk{who, dm, p.s.Write(line)}
}

// wire writes a text as Slack does.
var wire = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")

func (p *slack) say(in talk, text string) { p.s.Reply(in.who, in.channel, in.root, wire.Replace(text)) }

func (p *slack) again(in talk, answer string) {
	p.s.React(in.who, in.channel, answer, "arrows_counterclockwise")
}

func (p *slack) decide(in talk, card string, yes bool) {
	p.s.React(in.who, in.channel, card, map[bool]string{true: "white_check_mark", false: "x"}[yes])
}

func (p *slack) rings(in talk) bool {
	return slices.ContainsFunc(p.messages(in), func(m message) bool {
		text := strings.Join(m.texts, "\n")
		return strings.Contains(text, "<!") || strings.Contains(text, "<@"+stranger)
	})
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
	s               *fakediscord.Server
	guild, stranger string
}

func (p *discord) section() map[string]any {
	return map[string]any{"token": p.s.Token(), "api_url": p.s.URL()}
}

func (p *discord) connected() bool { return len(p.s.Connections()) > 0 }
func (p *discord) close()          { p.s.Close() }

func (p *discord) waitFor(ctx context.Context, holds func() bool) error {
	return p.s.WaitFor(ctx, func(*fakediscord.Server) bool { return holds() })
}

func (p *discord) ask(n int, c Case) talk {
	who := p.s.AddUser(fmt.Sprintf("person%d", n), c.asker(n))
	p.s.Join(p.guild, who)
	dm := p.s.DM(who)
	with := fakediscord.With{}
	switch c.order.Via {
	case byForward:
		with.Forward = p.s.Say(p.stranger, p.s.AddChannel(p.guild, "elsewhere"), c.order.Text)
	case byFile:
		with.Files = []fakediscord.File{{Name: "notes.txt", Data: []byte(c.order.Text)}}
	}
	return talk{who, dm, p.s.Say(who, dm, c.prompt, with)}
}

func (p *discord) say(in talk, text string) { p.s.Say(in.who, in.channel, text) }

func (p *discord) again(in talk, answer string) { p.s.React(in.who, answer, again) }

func (p *discord) decide(in talk, card string, yes bool) {
	p.s.React(in.who, card, map[bool]string{true: "✅", false: "❌"}[yes])
}

func (p *discord) rings(in talk) bool {
	return slices.ContainsFunc(p.s.Pings(in.channel), func(whom string) bool { return whom != in.who })
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
