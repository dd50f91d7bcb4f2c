package fakeslack

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
)

// subscribed says whether the app gets events of that name and may read what
// they hold.
func (s *Server) subscribed(name string) bool {
	if s.opt.Events != nil && !slices.Contains(s.opt.Events, name) {
		return false
	}
	scopes := map[string]string{
		"app_mention": "app_mentions:read", "reaction_added": "reactions:read", "reaction_removed": "reactions:read",
		"agent_session_stopped": "chat:write", "app_context_changed": "assistant:write",
	}
	scope, guarded := scopes[name]
	return !guarded || s.need(scope) == nil
}

// hears says whether the app gets the message events of a conversation.
func (s *Server) hears(ch *channel) bool {
	names := map[Kind]string{Public: "message.channels", Private: "message.groups", IM: "message.im", MPIM: "message.mpim"}
	return ch.has(BotUser) && s.subscribed(names[ch.Kind]) && s.need(channelScope(ch.Kind, "history")) == nil
}

// emit sends an event of the Events API on its way
// (https://docs.slack.dev/apis/events-api/#event-type-structure).
func (s *Server) emit(name string, event reply) {
	id := s.nextID("Ev")
	if event["event_ts"] == nil {
		event["event_ts"] = s.mintTS()
	}
	s.dispatch(&delivery{
		kind: "events_api", name: name, id: id, retries: true,
		payload: reply{
			"token": "fake-verification-token", "team_id": Team, "context_team_id": Team, "context_enterprise_id": nil,
			"api_app_id": App, "event": event, "type": "event_callback", "event_id": id, "event_time": s.now().Unix(),
			"authorizations": []reply{{
				"enterprise_id": nil, "team_id": Team, "user_id": BotUser, "is_bot": true, "is_enterprise_install": false,
			}},
			"is_ext_shared_channel": false, "event_context": "4-" + id,
		},
	})
}

// emitMessage announces a new message: as a message event, and besides as an
// app_mention where it mentions the bot outside of a direct conversation.
func (s *Server) emitMessage(ch *channel, m *message) {
	if s.hears(ch) {
		event := s.render(ch, m, true)
		event["channel"], event["channel_type"], event["event_ts"] = ch.ID, string(ch.Kind), m.ts
		s.foreign(event, m)
		s.addAction(event, m)
		if m.subtype == "thread_broadcast" {
			if root := ch.byTS[m.thread]; root != nil {
				event["root"] = s.render(ch, root, true)
			}
		}
		s.emit("message", event)
	}
	s.emitMention(ch, m)
}

func (s *Server) emitMention(ch *channel, m *message) {
	if ch.Kind == IM || !ch.has(BotUser) || m.botID == BotID || !mentions(m.text) || !s.subscribed("app_mention") {
		return
	}
	event := s.render(ch, m, false)
	event["type"], event["channel"], event["event_ts"] = "app_mention", ch.ID, m.ts
	delete(event, "subtype")
	s.foreign(event, m)
	s.addAction(event, m)
	s.emit("app_mention", event)
}

// foreign names the team of an author of another workspace, as Slack does in
// channels that are shared.
func (s *Server) foreign(event reply, m *message) {
	if team := s.teamOf(m.user); team != Team {
		event["user_team"], event["source_team"] = team, team
	}
}

func mentions(text string) bool {
	return strings.Contains(text, Mention) || strings.Contains(text, "<@"+BotUser+"|")
}

func (s *Server) emitChanged(ch *channel, now, before reply) {
	if !s.hears(ch) {
		return
	}
	ts := s.mintTS()
	now["source_team"], now["user_team"] = Team, Team
	s.emit("message", reply{
		"type": "message", "subtype": "message_changed", "hidden": true, "channel": ch.ID, "channel_type": string(ch.Kind),
		"ts": ts, "event_ts": ts, "message": now, "previous_message": before,
	})
}

func (s *Server) emitDeleted(ch *channel, m *message, before reply) {
	if !s.hears(ch) {
		return
	}
	ts := s.mintTS()
	event := reply{
		"type": "message", "subtype": "message_deleted", "hidden": true, "channel": ch.ID, "channel_type": string(ch.Kind),
		"ts": ts, "event_ts": ts, "deleted_ts": m.ts, "previous_message": before,
	}
	if m.isReply() {
		event["thread_ts"] = m.thread
	}
	s.emit("message", event)
}

func (s *Server) emitReaction(name string, ch *channel, m *message, user, emoji string) {
	if !ch.has(BotUser) || !s.subscribed(name) {
		return
	}
	event := reply{
		"type": name, "user": user, "reaction": emoji,
		"item": reply{"type": "message", "channel": ch.ID, "ts": m.ts},
	}
	if m.user != "" { // what incoming webhooks write has no author
		event["item_user"] = m.user
	}
	s.emit(name, event)
}

// richText gives the blocks that Slack's editor makes of what a person types.
func richText(text string) json.RawMessage {
	var parts []reply
	for text != "" {
		before, rest, found := strings.Cut(text, "<")
		if before != "" {
			parts = append(parts, reply{"type": "text", "text": unescape(before)})
		}
		if !found {
			break
		}
		token, after, closed := strings.Cut(rest, ">")
		if !closed {
			parts = append(parts, reply{"type": "text", "text": unescape("<" + rest)})
			break
		}
		parts = append(parts, richToken(token))
		text = after
	}
	if parts == nil {
		parts = []reply{}
	}
	raw, _ := json.Marshal([]reply{{ // strings and maps of them always marshal
		"type": "rich_text", "block_id": "typed",
		"elements": []reply{{"type": "rich_text_section", "elements": parts}},
	}})
	return raw
}

func richToken(token string) reply {
	body, label, labelled := strings.Cut(token, "|")
	switch {
	case strings.HasPrefix(body, "@"):
		return reply{"type": "user", "user_id": body[1:]}
	case strings.HasPrefix(body, "#"):
		return reply{"type": "channel", "channel_id": body[1:]}
	case strings.HasPrefix(body, "!subteam^"):
		return reply{"type": "usergroup", "usergroup_id": strings.TrimPrefix(body, "!subteam^")}
	case strings.HasPrefix(body, "!"):
		return reply{"type": "broadcast", "range": body[1:]}
	}
	out := reply{"type": "link", "url": unescape(body)}
	if labelled {
		maps.Copy(out, reply{"text": unescape(label)})
	}
	return out
}

func unescape(s string) string {
	return strings.NewReplacer("&lt;", "<", "&gt;", ">", "&amp;", "&").Replace(s)
}
