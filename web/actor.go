package web

import (
	"context"

	"github.com/labstack/echo/v4"

	"dlo/dlq"
)

type contextKey string

const (
	actorKey     contextKey = "actor"
	requestIDKey contextKey = "request id"
	methodKey    contextKey = "method"
	personKey    contextKey = "person"
)

// SetActor records for whom the rest of the request is done: the session and
// the bearer middleware call it, each after its own checks.
func SetActor(c echo.Context, actor dlq.Actor) {
	r := c.Request()
	c.SetRequest(r.WithContext(context.WithValue(r.Context(), actorKey, actor)))
}

// ActorOf gives who the request is done for. False: nobody is known.
func ActorOf(c echo.Context) (dlq.Actor, bool) { return ActorFrom(c.Request().Context()) }

// ActorFrom is ActorOf for code that has the request's context only.
func ActorFrom(ctx context.Context) (dlq.Actor, bool) {
	actor, ok := ctx.Value(actorKey).(dlq.Actor)
	return actor, ok
}

// Require lets pass only who may do what the route needs: nobody known is
// KindUnauthenticated, somebody without the permission KindForbidden.
func Require(permission dlq.Permission) echo.MiddlewareFunc {
	return func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(c echo.Context) error {
			actor, ok := ActorOf(c)
			if !ok {
				return dlq.Errorf(dlq.KindUnauthenticated, "Sign in first.")
			}
			if !actor.May(permission) {
				return dlq.Errorf(dlq.KindForbidden, "Your role does not allow this. An administrator can change it.")
			}
			return next(c)
		}
	}
}
