package fakeslack

import (
	"encoding/json"
	"io"
	"net/http"
	"strconv"
	"time"
)

// Action names a button, or another element that people use: on a message
// (Channel and TS, an ephemeral one included) or in a view. Value is what they
// chose or typed; a button has its own. Of feedback buttons it is which one:
// positive or negative.
type Action struct {
	Channel, TS string
	View        string
	ActionID    string
	Value       string
}

// responseURL lets the app answer an interaction without a token, five times
// within half an hour (https://docs.slack.dev/interactivity/handling-user-interaction).
type responseURL struct {
	channel, thread, user string
	original              string // ts of the message with the button
	at                    time.Time
	uses                  int
}

// Click has a person use an element, and gives the trigger id. Nothing of it
// is sent again when the app fails to acknowledge it: the person sees a
// warning.
func (s *Server) Click(user string, a Action) string {
	defer s.change()()
	u := s.user(user)
	var blocks json.RawMessage
	out := s.interaction("block_actions", u)
	switch {
	case a.View != "":
		v := s.view(a.View)
		var in struct{ Blocks json.RawMessage }
		_ = json.Unmarshal(v.Raw, &in) // it was read before
		blocks = in.Blocks
		out["view"], out["container"] = s.renderView(v), reply{"type": "view", "view_id": v.ID}
	default:
		blocks = s.clickMessage(out, u, a)
	}
	block, element := findElement(blocks, a.ActionID)
	if element == nil {
		panic("fakeslack: nothing to click with action_id " + a.ActionID)
	}
	act := reply{"action_id": a.ActionID, "block_id": block, "type": element["type"], "action_ts": s.mintTS()}
	for _, key := range []string{"text", "value", "style", "url"} {
		if v, ok := element[key]; ok {
			act[key] = v
		}
	}
	if element["type"] == "feedback_buttons" {
		button, ok := element.child(a.Value + "_button")
		if !ok {
			panic("fakeslack: no feedback button " + a.Value)
		}
		act["text"], act["value"] = button["text"], button["value"]
	} else if a.Value != "" {
		act["value"] = a.Value
		act["selected_option"] = reply{"value": a.Value}
	}
	out["actions"] = []reply{act}
	s.dispatch(&delivery{kind: "interactive", name: "block_actions", id: out["trigger_id"].(string), payload: out})
	return out["trigger_id"].(string)
}

// clickMessage fills in what a click on a message says of it, and gives the
// message's blocks.
func (s *Server) clickMessage(out reply, u *User, a Action) json.RawMessage {
	ch := s.channel(a.Channel)
	out["channel"] = reply{"id": ch.ID, "name": channelLabel(ch)}
	out["state"] = reply{"values": reply{}}
	container := reply{"type": "message", "message_ts": a.TS, "channel_id": ch.ID, "is_ephemeral": false}
	out["container"] = container
	m := ch.find(a.TS)
	if m != nil {
		if m.thread != "" {
			container["thread_ts"] = m.thread
		}
		out["message"] = s.render(ch, m, true)
		out["response_url"] = s.newResponseURL(responseURL{channel: ch.ID, thread: m.thread, user: u.ID, original: m.ts})
		return m.blocks
	}
	for _, e := range s.desk.ephemerals {
		if e.TS == a.TS && e.Channel == ch.ID && e.User == u.ID {
			container["is_ephemeral"] = true
			if e.Thread != "" {
				container["thread_ts"] = e.Thread
			}
			out["response_url"] = s.newResponseURL(responseURL{channel: ch.ID, thread: e.Thread, user: u.ID})
			return e.Blocks
		}
	}
	panic("fakeslack: no message " + a.TS + " in " + ch.ID)
}

func channelLabel(ch *channel) string {
	switch ch.Kind {
	case IM:
		return "directmessage"
	case Private:
		return "privategroup"
	}
	return ch.Name
}

// interaction gives what all interactions have in common.
func (s *Server) interaction(kind string, u *User) reply {
	return reply{
		"type": kind, "user": reply{"id": u.ID, "username": u.Name, "name": u.Name, "team_id": Team},
		"api_app_id": App, "token": "fake-verification-token", "trigger_id": s.newTrigger(u.ID),
		"team": reply{"id": Team, "domain": "fake"}, "enterprise": nil, "is_enterprise_install": false,
	}
}

func (s *Server) newTrigger(user string) string {
	s.serial++
	id := strconv.Itoa(s.serial) + ".1." + strconv.FormatUint(s.rand.Uint64(), 16)
	s.desk.triggers[id] = &trigger{user: user, at: s.now()}
	return id
}

func (s *Server) newResponseURL(r responseURL) string {
	id := s.uuid()
	r.at = s.now()
	s.desk.responses[id] = &r
	return s.base + "/response/" + id
}

// findElement looks for an interactive element, however deep in the blocks,
// and gives the id of its block with it.
func findElement(blocks json.RawMessage, actionID string) (string, obj) {
	var all []any
	if len(blocks) == 0 || json.Unmarshal(blocks, &all) != nil {
		return "", nil
	}
	return searchElement(all, "", actionID)
}

func searchElement(v any, block, actionID string) (string, obj) {
	switch v := v.(type) {
	case []any:
		for _, item := range v {
			if id, found := searchElement(item, block, actionID); found != nil {
				return id, found
			}
		}
	case map[string]any:
		if id, ok := v["block_id"].(string); ok {
			block = id
		}
		if v["action_id"] == actionID {
			return block, v
		}
		for _, item := range v {
			if id, found := searchElement(item, block, actionID); found != nil {
				return id, found
			}
		}
	}
	return "", nil
}

// view gives a view that is open, or panics: the test names none.
func (s *Server) view(id string) *View {
	v := s.desk.views[id]
	if v == nil || v.Closed {
		panic("fakeslack: no view " + id)
	}
	return v
}

// Submit has a person send a modal off with what they filled in: block id →
// action id → value object as Slack has it. The modal closes when the app
// acknowledges without asking for something else, which the test reads from
// [Server.Deliveries].
func (s *Server) Submit(user, view string, values map[string]map[string]any) string {
	defer s.change()()
	v := s.view(view)
	out := s.interaction("view_submission", s.user(user))
	rendered := s.renderView(v)
	rendered["state"] = reply{"values": values}
	out["view"], out["response_urls"] = rendered, []any{}
	s.dispatch(&delivery{
		kind: "interactive", name: "view_submission", id: out["trigger_id"].(string), payload: out, accepts: true,
	})
	return out["trigger_id"].(string)
}

// CloseView has a person close a modal, which the app hears of when it asked to.
func (s *Server) CloseView(user, view string) {
	defer s.change()()
	v := s.view(view)
	v.Closed = true
	var in struct {
		Notify bool `json:"notify_on_close"`
	}
	if _ = json.Unmarshal(v.Raw, &in); !in.Notify { // it was read before
		return
	}
	out := s.interaction("view_closed", s.user(user))
	delete(out, "trigger_id")
	out["view"], out["is_cleared"] = s.renderView(v), false
	s.dispatch(&delivery{kind: "interactive", name: "view_closed", id: s.uuid(), payload: out})
}

// Shortcut has a person use a shortcut on a message, and gives the trigger id. It
// works in channels, too, that the bot is not in.
func (s *Server) Shortcut(user, channel, ts, callback string) string {
	defer s.change()()
	ch, m := s.message(channel, ts)
	out := s.interaction("message_action", s.user(user))
	out["callback_id"], out["message_ts"], out["action_ts"] = callback, m.ts, s.mintTS()
	out["channel"], out["message"] = reply{"id": ch.ID, "name": channelLabel(ch)}, s.render(ch, m, true)
	out["response_url"] = s.newResponseURL(responseURL{channel: ch.ID, thread: m.thread, user: user, original: m.ts})
	s.dispatch(&delivery{kind: "interactive", name: "message_action", id: out["trigger_id"].(string), payload: out})
	return out["trigger_id"].(string)
}

// Slash has a person use a slash command, and gives the trigger id.
func (s *Server) Slash(user, channel, command, text string) string {
	defer s.change()()
	u, ch := s.user(user), s.channel(channel)
	trigger := s.newTrigger(u.ID)
	s.dispatch(&delivery{
		kind: "slash_commands", name: command, id: trigger, accepts: true,
		payload: reply{
			"token": "fake-verification-token", "team_id": Team, "team_domain": "fake", "channel_id": ch.ID,
			"channel_name": channelLabel(ch), "user_id": u.ID, "user_name": u.Name, "command": command, "text": text,
			"api_app_id": App, "is_enterprise_install": "false", "trigger_id": trigger,
			"response_url": s.newResponseURL(responseURL{channel: ch.ID, user: u.ID}),
		},
	})
	return trigger
}

// Limits of a response URL.
const (
	responseUses = 5
	responseLife = 30 * time.Minute
)

// serveResponse takes what the app sends to a response URL.
func (s *Server) serveResponse(w http.ResponseWriter, r *http.Request) {
	raw, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	var fields map[string]json.RawMessage
	if err == nil {
		err = json.Unmarshal(raw, &fields)
	}
	if err != nil {
		http.Error(w, "invalid_payload", http.StatusBadRequest)
		return
	}
	c := &call{method: "response_url", args: Args{}, json: fields}
	for k, v := range fields {
		c.args[k] = plain(v)
	}
	if err := s.respond(r.PathValue("id"), c); err != nil {
		http.Error(w, err.Error(), http.StatusNotFound)
		return
	}
	_, _ = io.WriteString(w, "ok")
}

func (s *Server) respond(id string, c *call) error {
	defer s.change()()
	u := s.desk.responses[id]
	switch {
	case u == nil:
		return refuse("expired_url")
	case u.uses >= responseUses, s.now().Sub(u.at) > responseLife:
		return refuse("used_url")
	}
	u.uses++
	ch := s.rooms.channels[u.channel]
	m := ch.find(u.original)
	if c.args.truth("delete_original") && m != nil {
		s.remove(ch, m)
		return nil
	}
	in, err := s.content(c, maxText)
	if err != nil {
		s.violate(c.method, err.Error())
		return err
	}
	switch {
	case c.args.truth("replace_original") && m != nil:
		s.revise(ch, m, in, BotUser)
	case c.args["response_type"] == "in_channel":
		s.say(ch, &message{
			user: BotUser, botID: BotID, text: in.text, blocks: in.blocks, thread: c.args["thread_ts"],
		})
	default:
		s.desk.ephemerals = append(s.desk.ephemerals, Ephemeral{
			At: s.now(), Channel: ch.ID, Thread: c.args["thread_ts"], User: u.user, TS: s.mintTS(), Text: in.text, Blocks: in.blocks,
		})
	}
	return nil
}
