package fakeslack

import (
	"encoding/base64"
	"slices"
	"strconv"
	"strings"
)

// visible gives a conversation that the bot may know of, and checks the scope
// for its kind: "read" or "history".
func (s *Server) visible(id, scope string) (*channel, error) {
	ch := s.rooms.channels[id]
	if ch == nil || ch.Kind != Public && !ch.has(BotUser) {
		return nil, refuse("channel_not_found")
	}
	return ch, s.need(channelScope(ch.Kind, scope))
}

// readable gives a conversation whose messages the bot may read.
func (s *Server) readable(id string) (*channel, error) {
	ch, err := s.visible(id, "history")
	if err == nil && !ch.has(BotUser) {
		return nil, refuse("not_in_channel")
	}
	return ch, err
}

func conversationInfo(s *Server, c *call) (reply, error) {
	ch, err := s.visible(c.args["channel"], "read")
	if err != nil {
		return nil, err
	}
	out := s.renderChannel(ch)
	if c.args.truth("include_num_members") {
		out["num_members"] = len(ch.Members)
	}
	return reply{"channel": out}, nil
}

// span is the part of a conversation that a call asks for, its ends included.
type span struct{ oldest, latest int64 }

func (c *call) span() (span, error) {
	sp := span{latest: 1<<63 - 1}
	var ok bool
	open := int64(1)
	if c.args.truth("inclusive") {
		open = 0
	}
	if v := c.args["oldest"]; v != "" {
		if sp.oldest, ok = parseTS(v); !ok {
			return sp, breach("invalid_ts_oldest", "%q", v)
		}
		sp.oldest += open
	}
	if v := c.args["latest"]; v != "" && v != "now" {
		if sp.latest, ok = parseTS(v); !ok {
			return sp, breach("invalid_ts_latest", "%q", v)
		}
		sp.latest -= open
	}
	return sp, nil
}

func (sp span) holds(m *message) bool {
	t, _ := parseTS(m.ts) // minted here
	return t >= sp.oldest && t <= sp.latest
}

// within gives the messages of a span that are still there.
func (sp span) within(all []*message) []*message {
	var out []*message
	for _, m := range all {
		if !m.deleted && sp.holds(m) {
			out = append(out, m)
		}
	}
	return out
}

// maxHistory is how many messages a page of history has at most.
const maxHistory = 999

func history(s *Server, c *call) (reply, error) {
	ch, err := s.readable(c.args["channel"])
	if err != nil {
		return nil, err
	}
	sp, err := c.span()
	if err != nil {
		return nil, err
	}
	limit, err := c.args.number("limit", 100, maxHistory)
	if n, _ := strconv.Atoi(c.args["limit"]); n > maxHistory {
		s.violate(c.method, "a limit of more than 999")
	}
	if err != nil {
		return nil, err
	}
	// The cursor is a time, so that what comes in meanwhile shifts nothing.
	if cursor := c.args["cursor"]; cursor != "" {
		until, ok := readCursor(cursor, "next_ts:")
		if !ok {
			return nil, breach("invalid_cursor", "%q", cursor)
		}
		sp.latest = int64(until)
	}
	page, next := sp.within(ch.top), ""
	slices.Reverse(page)
	if len(page) > limit {
		at, _ := parseTS(page[limit].ts) // minted here
		page, next = page[:limit], newCursor("next_ts:", int(at))
	}
	return reply{
		"messages": s.renderAll(ch, page, c.args), "has_more": next != "", "pin_count": 0,
		"channel_actions_ts": nil, "channel_actions_count": 0, "response_metadata": cursorTo(next),
	}, nil
}

// threadReplies gives the root before every page, whatever the span, as Slack
// does. The timestamp of a reply gives that reply alone.
func threadReplies(s *Server, c *call) (reply, error) {
	ch, err := s.readable(c.args["channel"])
	if err != nil {
		return nil, err
	}
	sp, err := c.span()
	if err != nil {
		return nil, err
	}
	ts := c.args["ts"]
	root := ch.find(ts)
	if root == nil && len(ch.replies(ts)) == 0 {
		return nil, refuse("thread_not_found")
	}
	page, next, err := paged(sp.within(ch.threads[ts]), c.args, 1000, 1000)
	if err != nil {
		return nil, err
	}
	if root != nil {
		page = append([]*message{root}, page...)
	}
	return reply{
		"messages": s.renderAll(ch, page, c.args), "has_more": next != "", "response_metadata": cursorTo(next),
	}, nil
}

func (s *Server) renderAll(ch *channel, all []*message, args Args) []reply {
	out := []reply{}
	for _, m := range all {
		out = append(out, s.render(ch, m, args.truth("include_all_metadata")))
	}
	return out
}

func openConversation(s *Server, c *call) (reply, error) {
	if id := c.args["channel"]; id != "" {
		ch := s.rooms.channels[id]
		if ch == nil || !ch.has(BotUser) {
			return nil, refuse("channel_not_found")
		}
		return reply{"channel": s.renderChannel(ch), "no_op": true, "already_open": true}, nil
	}
	users := c.args.list("users")
	for _, u := range users {
		switch p := s.people.users[u]; {
		case p == nil:
			return nil, refuse("user_not_found")
		case p.Hidden:
			return nil, refuse("user_not_visible")
		case p.Deleted:
			return nil, refuse("user_disabled")
		case p.Bot:
			return nil, refuse("cannot_dm_bot")
		}
	}
	var ch *channel
	switch {
	case len(users) == 0:
		return nil, breach("users_list_not_supplied", "neither users nor channel")
	case len(users) == 1:
		ch = s.dm(users[0])
	default:
		slices.Sort(users)
		id := "G" + strings.Join(users, "")
		if ch = s.rooms.channels[id]; ch == nil {
			ch = s.addChannel(Channel{ID: id, Name: "mpdm-" + id, Kind: MPIM, Members: append(users, BotUser)})
		}
	}
	out := reply{"id": ch.ID}
	if c.args.truth("return_im") {
		out = s.renderChannel(ch)
	}
	return reply{"channel": out}, nil
}

func conversationMembers(s *Server, c *call) (reply, error) {
	ch, err := s.visible(c.args["channel"], "read")
	if err != nil {
		return nil, err
	}
	page, next, err := paged(ch.Members, c.args, 100, 1000)
	if err != nil {
		return nil, err
	}
	return reply{"members": append([]string{}, page...), "response_metadata": cursorTo(next)}, nil
}

func joinConversation(s *Server, c *call) (reply, error) {
	ch, err := s.visible(c.args["channel"], "read")
	switch {
	case err != nil:
		return nil, err
	case ch.Kind != Public:
		return nil, refuse("method_not_supported_for_channel_type")
	case ch.Archived:
		return nil, refuse("is_archived")
	case !ch.has(BotUser):
		s.enter(ch, BotUser)
	}
	return reply{"channel": s.renderChannel(ch)}, nil
}

// typeNames are the kinds of conversation as users.conversations names them.
var typeNames = map[string]Kind{"public_channel": Public, "private_channel": Private, "mpim": MPIM, "im": IM}

func userConversations(s *Server, c *call) (reply, error) {
	types := c.args.list("types")
	if len(types) == 0 {
		types = []string{"public_channel"}
	}
	var kinds []Kind
	for _, t := range types {
		k, ok := typeNames[t]
		if !ok {
			return nil, breach("invalid_types", "%q", t)
		}
		if err := s.need(channelScope(k, "read")); err != nil {
			return nil, err
		}
		kinds = append(kinds, k)
	}
	who := c.args["user"]
	if who == "" {
		who = BotUser
	}
	var found []*channel
	for _, id := range s.rooms.order {
		ch := s.rooms.channels[id]
		hidden := ch.Kind != Public && !ch.has(BotUser) || ch.Archived && c.args.truth("exclude_archived")
		if !hidden && ch.has(who) && slices.Contains(kinds, ch.Kind) {
			found = append(found, ch)
		}
	}
	page, next, err := paged(found, c.args, 100, 999)
	if err != nil {
		return nil, err
	}
	channels := []reply{}
	for _, ch := range page {
		channels = append(channels, s.renderChannel(ch))
	}
	return reply{"channels": channels, "response_metadata": cursorTo(next)}, nil
}

// paged gives the page that a call's cursor and limit ask for of a list that
// grows at its end, and the cursor of the next one; empty on the last page.
func paged[T any](all []T, args Args, def, most int) ([]T, string, error) {
	limit, err := args.number("limit", def, most)
	if err != nil {
		return nil, "", err
	}
	from := 0
	if cursor := args["cursor"]; cursor != "" {
		var ok bool
		if from, ok = readCursor(cursor, "from:"); !ok {
			return nil, "", breach("invalid_cursor", "%q", cursor)
		}
	}
	from = min(from, len(all))
	to := min(len(all), from+limit)
	if to == len(all) {
		return all[from:], "", nil
	}
	return all[from:to], newCursor("from:", to), nil
}

func newCursor(kind string, n int) string {
	return base64.StdEncoding.EncodeToString([]byte(kind + strconv.Itoa(n)))
}

func readCursor(cursor, kind string) (int, bool) {
	raw, err := base64.StdEncoding.DecodeString(cursor)
	at, found := strings.CutPrefix(string(raw), kind)
	n, wrong := strconv.Atoi(at)
	return n, err == nil && found && wrong == nil && n >= 0
}

func cursorTo(next string) reply { return reply{"next_cursor": next} }
