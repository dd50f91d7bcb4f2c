package fakediscord

import (
	"encoding/json"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// post is the body of a message that the bot sends or edits.
type post struct {
	Content      *string         `json:"content"`
	Nonce        json.RawMessage `json:"nonce"`
	EnforceNonce bool            `json:"enforce_nonce"`
	Flags        int             `json:"flags"`
	Components   []any           `json:"components"`
	Embeds       []any           `json:"embeds"`
	Allowed      *allowed        `json:"allowed_mentions"`
	Reference    *struct {
		Message string `json:"message_id"`
		Fail    *bool  `json:"fail_if_not_exists"`
	} `json:"message_reference"`
	Attachments []struct {
		ID       any    `json:"id"`
		Filename string `json:"filename"`
	} `json:"attachments"`

	given map[string]json.RawMessage
	nonce string
	files []File
}

// allowed says whom a message may ping:
// https://discord.com/developers/docs/resources/message#allowed-mentions-object
type allowed struct {
	Parse   []string `json:"parse"`
	Users   []string `json:"users"`
	Roles   []string `json:"roles"`
	Replied bool     `json:"replied_user"`
}

func (p *post) has(field string) bool { _, ok := p.given[field]; return ok }

func (p *post) content() string {
	if p.Content == nil {
		return ""
	}
	return strings.TrimSpace(*p.Content)
}

// keeps tells whether an edit keeps an attachment that was there.
func (p *post) keeps(id string) bool {
	for _, a := range p.Attachments {
		if a.ID == id {
			return true
		}
	}
	return false
}

// readPost reads a message's body and checks it. An edit may leave everything
// out.
func (s *Server) readPost(q *request, edit bool) (*post, *apiError) {
	p := &post{}
	if bad := q.decode(&p.given); bad != nil {
		return nil, bad
	}
	if bad := q.decode(p); bad != nil {
		return nil, bad
	}
	if text := strings.Trim(string(p.Nonce), `"`); text != "null" {
		p.nonce = text
	}
	p.takeFiles(q)
	for _, f := range p.files {
		if len(f.Data) > s.largestFile(q.PathValue("channel")) {
			return nil, entityTooLarge
		}
	}
	if bad := p.check(); bad != nil {
		return nil, bad
	}
	if !edit && p.content() == "" && len(p.Embeds)+len(p.Components)+len(p.files) == 0 {
		return nil, refusal(http.StatusBadRequest, emptyMessage, "Cannot send an empty message")
	}
	number := 0
	walk(p.Components, func(c map[string]any) {
		number++
		complete(c, number)
	})
	for _, e := range p.Embeds {
		if o, ok := e.(map[string]any); ok {
			o["type"] = "rich"
		}
	}
	return p, nil
}

// takeFiles brings the uploaded files into the order of their numbers, under
// the names that the JSON gives them.
func (p *post) takeFiles(q *request) {
	keys := make([]string, 0, len(q.files))
	for k := range q.files {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	for _, k := range keys {
		f := q.files[k]
		for _, a := range p.Attachments {
			id, _ := a.ID.(string)
			if n, ok := a.ID.(float64); ok {
				id = strconv.Itoa(int(n))
			}
			if id == k && a.Filename != "" {
				f.Name = a.Filename
			}
		}
		p.files = append(p.files, f)
	}
}

// complete fills in what Discord fills in: the number of a component, and
// fields that were left out.
func complete(c map[string]any, number int) {
	if id, ok := c["id"].(float64); !ok || id == 0 {
		c["id"] = number
	}
	optional := map[float64]object{
		17: {"accent_color": nil, "spoiler": false},
		14: {"divider": true, "spacing": 1},
	}
	kind, _ := c["type"].(float64)
	for k, v := range optional[kind] {
		if c[k] == nil {
			c[k] = v
		}
	}
	for k, v := range c {
		if v == nil && k != "accent_color" {
			delete(c, k)
		}
	}
}

// message makes a message of a post.
func (p *post) message(s *Server, c *channel) *message {
	m := &message{author: s.bot, channel: c, components: p.Components, embeds: p.Embeds}
	m.Content = p.content()
	m.Flags = p.Flags & (1<<2 | 1<<12 | flagComponents)
	s.attach(m, p.files)
	s.mention(m, p.Allowed, nil)
	return m
}

var mentioning = regexp.MustCompile(`<@(!|&)?(\d+)>|@everyone|@here`)

// mention finds the people that a message mentions and pings: those in its text, and
// the author of the answered message, as far as allowed. Without an allowed_mentions
// all are.
func (s *Server) mention(m *message, a *allowed, answered *message) {
	if answered != nil && (a == nil || a.Replied) {
		s.mentionUser(m, answered.author.id)
	}
	view := m.view()
	text := view.Content + "\n" + view.Text()
	for _, found := range mentioning.FindAllStringSubmatch(text, -1) {
		switch {
		case found[2] == "":
			if (a == nil || has(a.Parse, "everyone")) && permissions(m.channel, m.author)&MentionEveryone != 0 {
				m.everyone = true
				m.ping("everyone")
			}
		case found[1] == "&":
			if m.channel.guild != nil && (a == nil || has(a.Parse, "roles") || has(a.Roles, found[2])) {
				s.mentionRole(m, found[2])
			}
		case a == nil || has(a.Parse, "users") || has(a.Users, found[2]):
			s.mentionUser(m, found[2])
		}
	}
}

func (s *Server) mentionUser(m *message, id string) {
	if s.users[id] != nil && !has(m.mentions, id) {
		m.mentions = append(m.mentions, id)
		m.ping(id)
	}
}

func (s *Server) mentionRole(m *message, id string) {
	for _, r := range m.channel.guild.roles {
		if r.id == id && !has(m.roles, id) {
			m.roles = append(m.roles, id)
			if r.mentionable || permissions(m.channel, m.author)&MentionEveryone != 0 {
				m.ping(id)
			}
		}
	}
}

func (m *message) ping(whom string) {
	if !has(m.Pings, whom) {
		m.Pings = append(m.Pings, whom)
	}
}

// largestFile is the largest file in a channel: two tiers of boosts make it more.
func (s *Server) largestFile(channel string) int {
	if c := s.channels[channel]; c != nil && c.guild != nil && c.guild.tier >= 2 {
		return boostedFile
	}
	return largestFile
}
