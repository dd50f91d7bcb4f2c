package fakediscord

import (
	"net/http"
	"strings"
)

// routes maps every address. A route is registered under both API versions and
// named without them.
func (s *Server) routes() http.Handler {
	mux := http.NewServeMux()
	for route, h := range map[string]handler{
		"GET /gateway":                 s.getGateway,
		"GET /gateway/bot":             s.getGatewayBot,
		"GET /users/@me":               s.getMe,
		"GET /users/{user}":            s.getUser,
		"GET /users/@me/guilds":        s.getMyGuilds,
		"GET /users/@me/channels":      s.getMyChannels,
		"POST /users/@me/channels":     s.openDM,
		"GET /applications/@me":        s.getApplication,
		"GET /oauth2/applications/@me": s.getApplication,

		"GET /guilds/{guild}":                s.getGuild,
		"GET /guilds/{guild}/roles":          s.getRoles,
		"GET /guilds/{guild}/channels":       s.getGuildChannels,
		"GET /guilds/{guild}/members":        s.getMembers,
		"GET /guilds/{guild}/members/{user}": s.getMember,
		"GET /guilds/{guild}/threads/active": s.getActiveThreads,

		"GET /channels/{channel}":                                                s.getChannel,
		"PATCH /channels/{channel}":                                              s.patchThread,
		"GET /channels/{channel}/messages":                                       s.getMessages,
		"POST /channels/{channel}/messages":                                      s.postMessage,
		"GET /channels/{channel}/messages/{message}":                             s.getMessage,
		"PATCH /channels/{channel}/messages/{message}":                           s.patchMessage,
		"DELETE /channels/{channel}/messages/{message}":                          s.deleteMessage,
		"POST /channels/{channel}/typing":                                        s.postTyping,
		"POST /channels/{channel}/messages/{message}/threads":                    s.postThread,
		"GET /channels/{channel}/threads/archived/public":                        s.getArchivedThreads,
		"GET /channels/{channel}/thread-members":                                 s.getThreadMembers,
		"GET /channels/{channel}/thread-members/{user}":                          s.getThreadMember,
		"PUT /channels/{channel}/thread-members/@me":                             s.joinThread,
		"DELETE /channels/{channel}/thread-members/@me":                          s.leaveThread,
		"PUT /channels/{channel}/thread-members/{user}":                          s.addToThread,
		"GET /channels/{channel}/messages/{message}/reactions/{emoji}":           s.getReactions,
		"PUT /channels/{channel}/messages/{message}/reactions/{emoji}/@me":       s.putReaction,
		"DELETE /channels/{channel}/messages/{message}/reactions/{emoji}/@me":    s.deleteReaction,
		"DELETE /channels/{channel}/messages/{message}/reactions/{emoji}/{user}": s.deleteReaction,
		"DELETE /channels/{channel}/messages/{message}/reactions/{emoji}":        s.clearEmoji,
		"DELETE /channels/{channel}/messages/{message}/reactions":                s.clearAll,

		"GET /applications/{app}/commands":  s.getCommands,
		"PUT /applications/{app}/commands":  s.putCommands,
		"POST /applications/{app}/commands": s.postCommand,

		callbackRoute:                                       s.callback,
		"POST /webhooks/{app}/{token}":                      s.postFollowUp,
		"GET /webhooks/{app}/{token}/messages/{message}":    s.getFollowUp,
		"PATCH /webhooks/{app}/{token}/messages/{message}":  s.patchFollowUp,
		"DELETE /webhooks/{app}/{token}/messages/{message}": s.deleteFollowUp,
	} {
		method, path, _ := strings.Cut(route, " ")
		mux.HandleFunc(method+" /api/{version}"+path, s.handle(route, h))
	}
	for _, path := range []string{"/{$}", "/resume", "/resume/{$}"} {
		mux.HandleFunc("GET "+path, s.serveGateway)
	}
	mux.HandleFunc("GET /attachments/{channel}/{id}/{name}", s.serveFile)
	mux.HandleFunc("/", s.unknownRoute)
	return mux
}

// unknownRoute answers a call of nothing that Discord has. A client of Slack is no bot of
// this server: its own fake has ended, and this one was given the port.
func (s *Server) unknownRoute(w http.ResponseWriter, r *http.Request) {
	if !strings.HasPrefix(r.Header.Get("Authorization"), "Bearer ") {
		s.mu.Lock()
		s.violate("no such route: %s %s", r.Method, r.URL.Path)
		s.mu.Unlock()
	}
	reply(w, http.StatusNotFound, object{"message": "404: Not Found", "code": 0})
}

// serveFile gives an attachment. As at Discord, the address is all it takes.
func (s *Server) serveFile(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	f, ok := s.files[r.PathValue("id")]
	s.mu.Unlock()
	if !ok {
		http.Error(w, "This content is no longer available.", http.StatusNotFound)
		return
	}
	w.Header().Set("Content-Type", f.Type)
	_, _ = w.Write(f.Data)
}
