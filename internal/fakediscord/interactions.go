package fakediscord

import (
	"cmp"
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"time"
)

// tokenLife is how long an interaction's token takes follow-ups:
// https://discord.com/developers/docs/interactions/receiving-and-responding
const tokenLife = 15 * time.Minute

// Kinds of an interaction, and of the first answer to it.
const (
	slashCommand = 2
	component    = 3
	suggestion   = 4
	formSent     = 5

	answerMessage      = 4
	answerDeferred     = 5
	answerDeferredEdit = 6
	answerUpdate       = 7
	answerChoices      = 8
	mostChoices        = 25
	answerModal        = 9
)

// interaction is a command or a click, and the bot's answer.
type interaction struct {
	Interaction
	token    string
	user     *user
	channel  *channel
	clicked  *message // nil for a command
	sent     bool     // it is a form that was filled in
	typing   bool     // it is a command that is still being typed
	abroad   bool     // the app is installed for the person alone
	context  *int     // where it was given, if not in a guild or a DM
	original *message // the first answer; the clicked message, when that was changed
	replies  []*message
}

// Interaction is a command that a person gave or a button that a person
// clicked.
type Interaction struct {
	ID       string
	User     string
	Channel  string
	Message  string // clicked on
	Name     string // of the command
	CustomID string // of the button
	Created  time.Time
	Acked    time.Time // the first answer in time; zero: none
	Answer   int       // type of the first answer
	Form     string    // the id of the form that it was answered with
	Modal    Modal     // that form
	Choices  []string  // suggestions for the typed text
	Replies  []Message // the bot's messages that answer it, ephemeral ones too
}

// Interactions gives all of them, oldest first.
func (s *Server) Interactions() []Interaction {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []Interaction
	for _, i := range s.interactions {
		v := i.Interaction
		v.User, v.Channel = i.user.id, i.channel.id
		for _, m := range i.replies {
			v.Replies = append(v.Replies, m.view())
		}
		out = append(out, v)
	}
	slices.SortFunc(out, func(a, b Interaction) int { return cmp.Compare(number(a.ID), number(b.ID)) })
	return out
}

func (i *interaction) kind() int {
	switch {
	case i.sent:
		return formSent
	case i.typing:
		return suggestion
	}
	if i.clicked != nil {
		return component
	}
	return slashCommand
}

func (i *interaction) metadata() object {
	o := object{
		"id": i.ID, "type": i.kind(), "user": userObject(i.user), "authorizing_integration_owners": i.owners(),
	}
	if i.clicked != nil {
		o["interacted_message_id"] = i.clicked.ID
	} else {
		o["name"] = i.Name
	}
	return o
}

func (i *interaction) owners() object {
	if i.abroad {
		return object{"1": i.user.id}
	}
	if i.channel.guild != nil {
		return object{"0": i.channel.guild.id}
	}
	return object{"0": "0"}
}

// begin makes an interaction and sends it to the bot.
func (s *Server) begin(i *interaction, data object) string {
	i.ID, i.Created = s.newID(), s.now()
	i.token = "interaction-token-" + i.ID
	s.interactions[i.token] = i
	c := i.channel
	o := object{
		"id": i.ID, "application_id": s.app.id, "type": i.kind(), "token": i.token, "version": 1,
		"channel_id": c.id, "channel": s.channelObject(c), "locale": "en-US", "entitlements": []object{},
		"authorizing_integration_owners": i.owners(), "attachment_size_limit": largestFile, "data": data,
		"app_permissions": strconv.FormatInt(permissions(c, s.bot), 10), "context": 1,
	}
	if g := c.guild; g != nil {
		m := memberWithUser(g, i.user)
		m["permissions"] = strconv.FormatInt(permissions(c, i.user), 10)
		o["member"], o["guild_id"], o["guild_locale"], o["context"] = m, g.id, "en-US", 0
		o["guild"] = object{"id": g.id, "locale": "en-US", "features": []string{}}
	} else {
		o["user"] = userObject(i.user)
	}
	if i.context != nil {
		o["context"] = *i.context
	}
	if i.clicked != nil {
		o["message"] = s.messageObject(i.clicked)
	}
	s.happen(event{kind: "INTERACTION_CREATE", guild: c.guild, data: o})
	return i.ID
}

// callback is the first answer to an interaction, possible once and soon.
func (s *Server) callback(q *request) (any, *apiError) {
	i := s.interactions[q.PathValue("token")]
	switch {
	case i == nil || i.ID != q.PathValue("interaction"):
		return nil, refusal(http.StatusNotFound, 10062, "Unknown interaction")
	case !i.Acked.IsZero():
		return nil, refusal(http.StatusBadRequest, 40060, "Interaction has already been acknowledged.")
	case s.now().Sub(i.Created) > s.options.Deadline:
		return nil, refusal(http.StatusNotFound, 10062, "Unknown interaction")
	}
	var body struct {
		Type int             `json:"type"`
		Data json.RawMessage `json:"data"`
	}
	if bad := q.decode(&body); bad != nil {
		return nil, bad
	}
	inner := &request{Request: q.Request, route: q.route, body: body.Data, files: q.files}
	if len(inner.body) == 0 || string(inner.body) == "null" {
		inner.body = []byte("{}")
	}
	if bad := s.answer(i, body.Type, inner); bad != nil {
		return nil, bad
	}
	i.Acked, i.Answer = s.now(), body.Type
	s.change()
	if q.URL.Query().Get("with_response") == "true" {
		return s.callbackObject(i), nil
	}
	return nil, nil
}

func (s *Server) callbackObject(i *interaction) object {
	about := object{"id": i.ID, "type": i.kind()}
	o := object{"interaction": about}
	if m := i.original; m != nil {
		about["response_message_id"] = m.ID
		about["response_message_ephemeral"] = m.Flags&flagEphemeral != 0
		about["response_message_loading"] = m.Flags&flagLoading != 0
		if i.Answer == answerMessage || i.Answer == answerUpdate {
			o["resource"] = object{"type": i.Answer, "message": s.messageObject(m)}
		}
	}
	return o
}

// answer carries the first answer out.
func (s *Server) answer(i *interaction, kind int, q *request) *apiError {
	if i.typing != (kind == answerChoices) {
		return badForm("type", "BASE_TYPE_CHOICES", "What is being typed is answered with choices, and nothing else is.")
	}
	switch kind {
	case answerChoices:
		return i.suggest(q)
	case answerMessage, answerDeferred:
		m, bad := s.respond(i, q, kind == answerDeferred)
		i.original = m
		return bad
	case answerDeferredEdit, answerUpdate:
		if i.clicked == nil {
			return badForm("type", "BASE_TYPE_CHOICES", "Only a component can be answered with an update.")
		}
		i.original = i.clicked
		if kind == answerDeferredEdit {
			return nil
		}
		p, bad := s.readPost(q, true)
		if bad != nil {
			return bad
		}
		return s.revise(i.clicked, p)
	case answerModal:
		m, bad := modal(q)
		i.Form, i.Modal = m.ID, m
		return bad
	}
	return badForm("type", "BASE_TYPE_CHOICES", "Value must be one of {4, 5, 6, 7, 9}.")
}

// respond posts a message that answers an interaction. A deferred one only
// shows that something will come.
func (s *Server) respond(i *interaction, q *request, deferred bool) (*message, *apiError) {
	p, bad := s.readPost(q, deferred)
	if bad != nil {
		return nil, bad
	}
	m := &message{author: s.bot, channel: i.channel}
	if !deferred {
		m = p.message(s, i.channel)
	}
	m.hook, m.began = s.app.id, i
	if i.clicked == nil {
		m.Type = commandMessage
	}
	if deferred {
		m.Flags |= flagLoading
	}
	if p.Flags&flagEphemeral != 0 {
		m.Flags |= flagEphemeral
		m.Reader = i.user.id
	}
	s.add(m)
	i.replies = append(i.replies, m)
	return m, nil
}

// suggest takes the suggestions for a half-typed command.
func (i *interaction) suggest(q *request) *apiError {
	var body struct {
		Choices []struct {
			Name  string `json:"name"`
			Value string `json:"value"`
		} `json:"choices"`
	}
	if bad := q.decode(&body); bad != nil {
		return bad
	}
	f := &form{}
	if len(body.Choices) > mostChoices {
		f.fail("data.choices", "BASE_TYPE_BAD_LENGTH", "Must be between 0 and 25 in length.")
	}
	for _, c := range body.Choices {
		f.length("data.choices.name", c.Name, 1, 100)
		f.length("data.choices.value", c.Value, 1, 100)
		i.Choices = append(i.Choices, c.Value)
	}
	return f.bad
}

// followed finds the interaction of a follow-up.
func (s *Server) followed(q *request) (*interaction, *apiError) {
	i := s.interactions[q.PathValue("token")]
	switch {
	case i == nil || q.PathValue("app") != s.app.id || i.Acked.IsZero():
		return nil, refusal(http.StatusNotFound, 10015, "Unknown Webhook")
	case s.now().Sub(i.Created) > tokenLife:
		return nil, refusal(http.StatusUnauthorized, 50027, "Invalid Webhook Token")
	}
	return i, nil
}

// followUp finds a message of an interaction; @original is its first answer.
func (s *Server) followUp(q *request) (*message, *apiError) {
	i, bad := s.followed(q)
	if bad != nil {
		return nil, bad
	}
	id := q.PathValue("message")
	if id == "@original" && i.original != nil && !i.original.Deleted {
		return i.original, nil
	}
	for _, m := range i.replies {
		if m.ID == id && !m.Deleted {
			return m, nil
		}
	}
	return nil, unknownMessage
}

// postFollowUp adds a message. The first one after a deferred answer takes its
// place.
func (s *Server) postFollowUp(q *request) (any, *apiError) {
	i, bad := s.followed(q)
	if bad != nil {
		return nil, bad
	}
	if m := i.original; m != nil && m.Flags&flagLoading != 0 {
		p, bad := s.readPost(q, false)
		if bad != nil {
			return nil, bad
		}
		if bad := s.fill(m, p); bad != nil {
			return nil, bad
		}
		return s.messageObject(m), nil
	}
	m, bad := s.respond(i, q, false)
	if bad != nil {
		return nil, bad
	}
	return s.messageObject(m), nil
}

// fill puts a post into a message that was waiting for one.
func (s *Server) fill(m *message, p *post) *apiError {
	s.mention(m, p.Allowed, nil)
	return s.revise(m, p)
}

func (s *Server) getFollowUp(q *request) (any, *apiError) {
	m, bad := s.followUp(q)
	if bad != nil {
		return nil, bad
	}
	return s.messageObject(m), nil
}

func (s *Server) patchFollowUp(q *request) (any, *apiError) {
	m, bad := s.followUp(q)
	if bad != nil {
		return nil, bad
	}
	p, bad := s.readPost(q, true)
	if bad != nil {
		return nil, bad
	}
	if bad := s.revise(m, p); bad != nil {
		return nil, bad
	}
	return s.messageObject(m), nil
}

func (s *Server) deleteFollowUp(q *request) (any, *apiError) {
	m, bad := s.followUp(q)
	if bad != nil {
		return nil, bad
	}
	s.remove(m)
	return nil, nil
}
