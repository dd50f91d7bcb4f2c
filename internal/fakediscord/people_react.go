package fakediscord

import (
	"fmt"
	"slices"
	"strings"
)

func (s *Server) reaction(user, id, emoji string, burst, on bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	u, m := must(s.users, "user", user), must(s.messages, "message", id)
	e, bad := emojiOf(emoji)
	if bad != nil {
		panic(fmt.Sprintf("fakediscord: %q is no emoji", emoji))
	}
	if on {
		s.react(m, u, e, burst)
	} else {
		s.unreact(m, u, e, burst)
	}
}

// ClearReactions lets a moderator take every reaction off a message, or those
// of one emoji.
func (s *Server) ClearReactions(id, emoji string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	m := must(s.messages, "message", id)
	if emoji == "" {
		s.clear(m, nil)
		return
	}
	if e, bad := emojiOf(emoji); bad == nil && m.reacted(e) != nil {
		s.clear(m, &e)
	}
}

// Click lets a person click a button of a message, and gives the interaction's
// id. It panics when there is no such button, or it is disabled, or the person
// can't see the message.
func (s *Server) Click(user, id, customID string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	u, m := must(s.users, "user", user), must(s.messages, "message", id)
	kind := 0.0
	walk(m.components, func(c map[string]any) {
		if c["custom_id"] == customID && c["disabled"] != true {
			kind, _ = c["type"].(float64)
		}
	})
	if kind == 0 || m.Deleted || m.Reader != "" && m.Reader != user {
		panic(fmt.Sprintf("fakediscord: %s can't click %q on message %s", u.name, customID, id))
	}
	i := &interaction{user: u, channel: m.channel, clicked: m}
	i.Message, i.CustomID = m.ID, customID
	return s.begin(i, object{"component_type": kind, "custom_id": customID, "id": 1})
}

// Fill lets a person fill in the form that an interaction was answered with, and
// gives the new interaction's id.
func (s *Server) Fill(interactionID, value string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, i := range s.interactions {
		if i.ID != interactionID || i.Form == "" {
			continue
		}
		next := &interaction{user: i.user, channel: i.channel, clicked: i.clicked, sent: true}
		next.CustomID = i.Form
		return s.begin(next, object{"custom_id": i.Form, "components": []object{
			{"type": 18, "id": 1, "component": object{"type": 4, "id": 2, "custom_id": "reason", "value": value}},
		}})
	}
	panic(fmt.Sprintf("fakediscord: interaction %s has no form", interactionID))
}

// Slash lets a person give a registered command, and gives the interaction's
// id. It panics when the command is not registered or does not take an option.
func (s *Server) Slash(user, channel, name string, options map[string]any) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.command(name)
	if c == nil {
		panic(fmt.Sprintf("fakediscord: no command is called %q", name))
	}
	kinds := map[string]any{}
	takes, _ := c["options"].([]any)
	for _, e := range takes {
		if o, ok := e.(map[string]any); ok {
			name, _ := o["name"].(string)
			kinds[name] = o["type"]
			if _, given := options[name]; o["required"] == true && !given {
				panic(fmt.Sprintf("fakediscord: option %q is required", name))
			}
		}
	}
	given, files := []object{}, object{}
	for k, v := range options {
		if f, ok := v.(File); ok {
			m := &message{channel: must(s.channels, "channel", channel)}
			s.attach(m, []File{f})
			files[m.Files[0].ID] = attachmentObjects(m)[0]
			v = m.Files[0].ID
		}
		if kinds[k] == nil {
			panic(fmt.Sprintf("fakediscord: command %q takes no option %q", name, k))
		}
		given = append(given, object{"name": k, "type": kinds[k], "value": v})
	}
	slices.SortFunc(given, func(a, b object) int {
		return strings.Compare(fmt.Sprint(a["name"]), fmt.Sprint(b["name"]))
	})
	i := &interaction{user: must(s.users, "user", user), channel: must(s.channels, "channel", channel)}
	i.Name = name
	i.abroad, i.context = s.abroad, s.context
	data := object{"id": c["id"], "name": name, "type": 1, "options": given}
	if len(files) > 0 {
		data["resolved"] = object{"attachments": files}
	}
	return s.begin(i, data)
}

// Type lets a person type an option of a registered command, and gives the id of
// the interaction that asks the bot how it might go on.
func (s *Server) Type(user, channel, name, option, text string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.command(name)
	takes, _ := c["options"].([]any)
	if !slices.ContainsFunc(takes, func(e any) bool {
		o, _ := e.(map[string]any)
		return o["name"] == option && o["autocomplete"] == true
	}) {
		panic(fmt.Sprintf("fakediscord: command %q suggests nothing for %q", name, option))
	}
	i := &interaction{user: must(s.users, "user", user), channel: must(s.channels, "channel", channel), typing: true}
	i.Name = name
	return s.begin(i, object{"id": c["id"], "name": name, "type": 1, "options": []object{
		{"name": option, "type": 3, "value": text, "focused": true},
	}})
}

// Abroad makes the commands that follow those of an app which people installed for
// themselves, given in a context: 0 a guild, 1 the DM with the bot, 2 another
// conversation.
func (s *Server) Abroad(installed bool, context int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.abroad, s.context = installed, &context
}

// Menu lets a person give a registered command on a message, which comes along
// with all that it says.
func (s *Server) Menu(user, target, name string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.command(name)
	if c == nil || c["type"] != 3.0 {
		panic(fmt.Sprintf("fakediscord: no command on messages is called %q", name))
	}
	m := must(s.messages, "message", target)
	i := &interaction{user: must(s.users, "user", user), channel: m.channel}
	i.Name = name
	return s.begin(i, object{
		"id": c["id"], "name": name, "type": 3, "target_id": m.ID,
		"resolved": object{"messages": object{m.ID: s.messageObject(m)}},
	})
}
