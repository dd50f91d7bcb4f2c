package fakeslack

import (
	"encoding/json"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// desk holds statuses, sessions, views, files, and their short-lived handles.
type desk struct {
	ephemerals []Ephemeral
	statuses   []Status
	current    map[string]int // channel and thread → index of its last status
	sessions   []Session
	state      map[string]string // channel and thread → status of its agent session
	titles     map[string]string // channel and thread → title
	prompts    map[string]json.RawMessage
	views      map[string]*View
	homes      map[string]*View // by user
	triggers   map[string]*trigger
	responses  map[string]*responseURL
	files      map[string]*file
	holdFiles  func()
}

// trigger allows one view to be opened soon after somebody did something.
type trigger struct {
	user string
	at   time.Time
	used bool
}

func newDesk() desk {
	return desk{
		current: map[string]int{}, state: map[string]string{}, titles: map[string]string{}, prompts: map[string]json.RawMessage{}, views: map[string]*View{},
		homes: map[string]*View{}, triggers: map[string]*trigger{}, responses: map[string]*responseURL{},
		files: map[string]*file{},
	}
}

// Ephemeral is a message that only one person sees.
type Ephemeral struct {
	At      time.Time
	Channel string
	Thread  string
	User    string
	TS      string
	Text    string
	Blocks  json.RawMessage
}

// Status is the line under a thread that says what the bot is doing; an empty
// Text clears it. Slack clears it by itself when the bot posts in the thread
// (Auto), and after two minutes.
type Status struct {
	At      time.Time
	Channel string
	Thread  string
	Text    string
	Loading []string
	Auto    bool
}

// Session is a change of an agent session.
type Session struct {
	At      time.Time
	Channel string
	Thread  string
	Status  string
	Title   string
}

// statusLife is how long a status stays without another one.
const statusLife = 2 * time.Minute

// threadIn gives the channel and the thread that a call of the assistant
// methods names; no thread where that is allowed.
func (s *Server) threadIn(c *call, optional bool) (*channel, string, error) {
	ch := s.rooms.channels[c.args["channel_id"]]
	if ch == nil || !ch.has(BotUser) {
		return nil, "", refuse("channel_not_found")
	}
	ts := c.args["thread_ts"]
	if ts == "" && optional {
		return ch, "", nil
	}
	if m := ch.byTS[ts]; m == nil || m.isReply() {
		return nil, "", breach("invalid_thread_ts", "%q is no root of a thread in %s", ts, ch.ID)
	}
	return ch, ts, nil
}

func setStatus(s *Server, c *call) (reply, error) {
	ch, ts, err := s.threadIn(c, false)
	if err != nil {
		return nil, err
	}
	loading := c.args.list("loading_messages")
	if len(loading) > 10 {
		return nil, breach("invalid_arguments", "%d loading messages", len(loading))
	}
	s.showStatus(Status{Channel: ch.ID, Thread: ts, Text: c.args["status"], Loading: loading})
	if s.subscribed("agent_session_stopped") { // Slack bridges the older call to a session
		state := "processing"
		if c.args["status"] == "" {
			state = "active"
		}
		s.desk.state[ch.ID+" "+ts] = state
	}
	return nil, nil
}

func (s *Server) showStatus(st Status) {
	st.At = s.now()
	s.desk.current[st.Channel+" "+st.Thread] = len(s.desk.statuses)
	s.desk.statuses = append(s.desk.statuses, st)
}

// clearStatus applies a bot's post to the status of its thread. A session stays: only
// the app ends its processing.
func (s *Server) clearStatus(channel, thread string) {
	if s.status(channel, thread) != "" {
		s.showStatus(Status{Channel: channel, Thread: thread, Auto: true})
	}
}

func (s *Server) status(channel, thread string) string {
	i, known := s.desk.current[channel+" "+thread]
	if !known || s.now().Sub(s.desk.statuses[i].At) > statusLife {
		return ""
	}
	return s.desk.statuses[i].Text
}

func setTitle(s *Server, c *call) (reply, error) {
	ch, ts, err := s.threadIn(c, false)
	if err != nil {
		return nil, err
	}
	s.desk.titles[ch.ID+" "+ts] = c.args["title"]
	return nil, nil
}

func setPrompts(s *Server, c *call) (reply, error) {
	ch, ts, err := s.threadIn(c, true)
	if err != nil {
		return nil, err
	}
	var prompts []struct{ Title, Message string }
	if err := json.Unmarshal([]byte(c.args["prompts"]), &prompts); err != nil {
		return nil, breach("invalid_arguments", "prompts: %v", err)
	}
	if len(prompts) == 0 || len(prompts) > 4 {
		return nil, breach("invalid_arguments", "%d prompts, 1 to 4 are allowed", len(prompts))
	}
	for _, p := range prompts {
		if p.Title == "" || p.Message == "" {
			return nil, breach("invalid_arguments", "a prompt wants title and message")
		}
	}
	s.desk.prompts[ch.ID+" "+ts] = json.RawMessage(c.args["prompts"])
	return nil, nil
}

func setSession(s *Server, c *call) (reply, error) {
	if s.opt.NoSessions {
		return nil, refuse("feature_disabled")
	}
	if ch := s.rooms.channels[c.args["channel_id"]]; ch != nil && !ch.has(BotUser) {
		return nil, refuse("not_authorized") // the same word also stands for an app that is no agent
	}
	ch, ts, err := s.threadIn(c, true)
	switch {
	case err != nil:
		return nil, err
	case ts == "":
		return nil, breach("thread_ts_required", "a session is a thread")
	case !slices.Contains([]string{"active", "processing", "suspended", "closed"}, c.args["status"]):
		return nil, breach("invalid_status", "%q", c.args["status"])
	}
	s.desk.state[ch.ID+" "+ts] = c.args["status"]
	s.desk.sessions = append(s.desk.sessions, Session{
		At: s.now(), Channel: ch.ID, Thread: ts, Status: c.args["status"], Title: c.args["title"],
	})
	return nil, nil
}

func renameSession(s *Server, c *call) (reply, error) {
	ch, ts, err := s.threadIn(c, true)
	switch {
	case err != nil:
		return nil, err
	case ts == "":
		return nil, breach("thread_ts_required", "a session is a thread")
	case strings.TrimSpace(c.args["title"]) == "":
		return nil, breach("invalid_name", "no title")
	}
	s.desk.titles[ch.ID+" "+ts] = c.args["title"]
	return nil, nil
}

// View is a modal or a home tab. Raw is the view as the bot sent it.
type View struct {
	ID       string
	External string
	User     string
	Type     string // modal, home
	Raw      json.RawMessage
	Hash     string
	Closed   bool
	Errors   map[string]string // by block: the app's complaint about the input
}

// maxView is how many characters a view's JSON may have.
const maxView = 250000

func (s *Server) newView(c *call, kind, user string) (*View, error) {
	var v struct {
		Type     string          `json:"type"`
		External string          `json:"external_id"`
		Title    obj             `json:"title"`
		Blocks   json.RawMessage `json:"blocks"`
	}
	raw := c.args["view"]
	if len(raw) > maxView {
		return nil, breach("view_too_large", "the view has %d bytes", len(raw))
	}
	if err := json.Unmarshal([]byte(raw), &v); err != nil {
		return nil, breach("invalid_arguments", "view: %v", err)
	}
	if v.Type != kind {
		return nil, breach("invalid_arguments", "view of type %q instead of %s", v.Type, kind)
	}
	if n := utf8.RuneCountInString(v.Title.str("text")); kind == "modal" && (n == 0 || n > 24) {
		return nil, breach("invalid_arguments", "the title has %d characters, 1 to 24 are allowed", n)
	}
	where := inModal
	if kind == "home" {
		where = inHome
	}
	if err := checkBlocks(v.Blocks, where); err != nil {
		return nil, err
	}
	if err := checkModal([]byte(raw), kind); err != nil {
		return nil, err
	}
	return &View{External: v.External, User: user, Type: kind, Raw: json.RawMessage(raw), Hash: s.nextID("")}, nil
}

func openView(s *Server, c *call) (reply, error) {
	t := s.desk.triggers[c.args["trigger_id"]]
	switch {
	case t == nil:
		return nil, breach("invalid_trigger_id", "%q", c.args["trigger_id"])
	case t.used:
		return nil, breach("exchanged_trigger_id", "used before")
	case s.now().Sub(t.at) > s.opt.TriggerLife:
		return nil, refuse("expired_trigger_id")
	}
	v, err := s.newView(c, "modal", t.user)
	if err != nil {
		return nil, err
	}
	t.used = true
	v.ID = s.nextID("V")
	s.desk.views[v.ID] = v
	return reply{"view": s.renderView(v)}, nil
}

func updateView(s *Server, c *call) (reply, error) {
	v := s.desk.views[c.args["view_id"]]
	if ext := c.args["external_id"]; v == nil && ext != "" {
		for _, known := range s.desk.views {
			if known.External == ext {
				v = known
			}
		}
	}
	if v == nil || v.Closed {
		return nil, refuse("not_found")
	}
	if h := c.args["hash"]; h != "" && h != v.Hash {
		return nil, refuse("hash_conflict")
	}
	newer, err := s.newView(c, v.Type, v.User)
	if err != nil {
		return nil, err
	}
	newer.ID = v.ID
	*v = *newer
	return reply{"view": s.renderView(v)}, nil
}

func publishView(s *Server, c *call) (reply, error) {
	who := c.args["user_id"]
	if s.people.users[who] == nil {
		return nil, refuse("user_not_found")
	}
	v, err := s.newView(c, "home", who)
	if err != nil {
		return nil, err
	}
	known := s.desk.homes[who]
	if h := c.args["hash"]; known != nil && h != "" && h != known.Hash {
		return nil, refuse("hash_conflict")
	}
	if known != nil {
		v.ID = known.ID
	} else {
		v.ID = s.nextID("V")
	}
	s.desk.homes[who], s.desk.views[v.ID] = v, v
	return reply{"view": s.renderView(v)}, nil
}

// renderView gives the view object, with what Slack adds to it.
func (s *Server) renderView(v *View) reply {
	out := reply{}
	_ = json.Unmarshal(v.Raw, &out) // it was read before
	for k, val := range map[string]any{
		"id": v.ID, "team_id": Team, "hash": v.Hash, "app_id": App, "bot_id": BotID, "root_view_id": v.ID,
		"previous_view_id": nil, "state": reply{"values": reply{}}, "app_installed_team_id": Team,
	} {
		out[k] = val
	}
	return out
}
