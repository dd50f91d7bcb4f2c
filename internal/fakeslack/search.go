package fakeslack

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// actionLife is how long the token in an event lets an app search. Slack says only that it
// is short.
const actionLife = 10 * time.Minute

// action is the token in an event: the app may search with the eyes of its author.
type action struct {
	user string
	at   time.Time
}

// addAction gives the event of a person's message its token, to an app that may search
// (https://docs.slack.dev/apis/web-api/real-time-search-api).
func (s *Server) addAction(event reply, m *message) {
	if m.user == "" || m.botID != "" || s.need("search:read.public") != nil {
		return
	}
	token := fmt.Sprintf("12345.98765.%d", len(s.actions)+1)
	s.actions[token] = action{m.user, s.now()}
	event["action_token"] = token
}

// searchContext finds messages that hold one of the words
// (https://docs.slack.dev/reference/methods/assistant.search.context). Private ones it
// finds only with a scope, to which each person consents in their client.
func searchContext(s *Server, c *call) (reply, error) {
	kinds := c.args["channel_types"]
	if kinds == "" {
		kinds = "public_channel"
	}
	a, known := s.actions[c.args["action_token"]]
	switch {
	case strings.TrimSpace(c.args["query"]) == "":
		return nil, breach("invalid_arguments", "query is missing")
	case c.args["action_token"] == "":
		return nil, breach("missing_action_token", "a bot token needs one")
	case !known || s.now().Sub(a.at) > actionLife:
		return nil, refuse("invalid_action_token")
	}
	scopes := map[string]string{"public_channel": "public", "private_channel": "private", "im": "im", "mpim": "mpim"}
	for kind := range strings.SplitSeq(kinds, ",") {
		if scopes[kind] == "" {
			return nil, breach("invalid_arguments", "no channel type %q", kind)
		}
		if err := s.need("search:read." + scopes[kind]); err != nil {
			return nil, err
		}
	}
	types := map[Kind]string{Public: "public_channel", Private: "private_channel", IM: "im", MPIM: "mpim"}
	found := []reply{}
	for _, id := range slices.Sorted(maps.Keys(s.rooms.channels)) {
		ch := s.rooms.channels[id]
		if !slices.Contains(strings.Split(kinds, ","), types[ch.Kind]) || ch.Kind != Public && !ch.has(a.user) {
			continue
		}
		for _, m := range ch.all {
			if m.deleted || m.user == "" || m.botID != "" || !holds(m.text, c.args["query"]) {
				continue
			}
			found = append(found, reply{
				"author_user_id": m.user, "author_name": s.people.users[m.user].Name, "team_id": Team, "channel_id": ch.ID, "channel_name": ch.Name,
				"message_ts": m.ts, "content": m.text, "is_author_bot": false, "permalink": permalink(ch, m),
			})
		}
	}
	most, err := c.args.number("limit", 20, 20)
	if err != nil {
		return nil, err
	}
	return reply{"results": reply{"messages": found[:min(most, len(found))]}, "response_metadata": cursorTo("")}, nil
}

// holds says whether a text has one of the words.
func holds(text, query string) bool {
	return slices.ContainsFunc(strings.Fields(strings.ToLower(query)), func(word string) bool {
		return strings.Contains(strings.ToLower(text), word)
	})
}
