package handlers

import (
	"net/http"
	"slices"
	"strings"
	"time"

	"dlo/dlq"
	"dlo/views/components"
	"dlo/views/confirm"
	"dlo/views/users"
	"dlo/web"

	"github.com/labstack/echo/v4"
)

// confirmedFor is how long a password that was given again is good for changes
// of who may do what.
const confirmedFor = 5 * time.Minute

// usersPage is GET /settings/users.
func (h *Handlers) usersPage(c echo.Context) error {
	return h.showUsers(c, http.StatusOK, usersFacts{})
}

func (h *Handlers) showUsers(c echo.Context, status int, f usersFacts) error {
	var err error
	if f.people, err = h.Store.People(c.Request().Context()); err != nil {
		return err
	}
	frame, err := h.layout(c, "Users", "")
	if err != nil {
		return err
	}
	by, _ := web.ActorOf(c)
	f.self, f.csrf = by.ID, frame.CSRF
	m := newUsersPage(f)
	m.Layout = frame
	return web.RenderPage(c, status, users.Page(m), users.Page(m))
}

// userAdd is POST /settings/users. The password stands on the answer, once:
// it is nowhere else, so there is no redirect.
func (h *Handlers) userAdd(c echo.Context) error {
	if done, err := h.askPassword(c, "Add somebody"); done || err != nil {
		return err
	}
	ctx := c.Request().Context()
	by, _ := web.ActorOf(c)
	p := dlq.Person{Email: dlq.NormalEmail(c.FormValue("email")), Role: dlq.Role(c.FormValue("role")), Sources: sourceList(c.FormValue("sources"))}
	faults := personFaults(p)
	if !dlq.ValidEmail(p.Email) {
		faults = append(faults, dlq.Fault{Pointer: "/email", Detail: "an e-mail address expected"})
	}
	if len(faults) > 0 {
		return h.showUsers(c, http.StatusUnprocessableEntity, usersFacts{email: c.FormValue("email"), role: p.Role, sources: c.FormValue("sources"), wrong: dlq.Invalid("nobody was added", faults...)})
	}
	password := web.GeneratePassword()
	hash, err := h.Passwords.Hash(ctx, password)
	if err != nil {
		return err
	}
	added, err := h.Store.AddPerson(ctx, by, p, hash)
	if dlq.KindOf(err) == dlq.KindConflict {
		return h.showUsers(c, http.StatusConflict, usersFacts{email: p.Email, role: p.Role, sources: c.FormValue("sources"), wrong: err})
	}
	if err != nil {
		return err
	}
	return h.showUsers(c, http.StatusOK, usersFacts{created: createdUser(added.Email, password)})
}

func createdUser(email, password string) *users.Created {
	return &users.Created{Email: email, Password: components.Code{ID: "new-password", Label: "The new password", Text: password}}
}

func personFaults(p dlq.Person) []dlq.Fault {
	var faults []dlq.Fault
	if !p.Role.Valid() {
		faults = append(faults, dlq.Fault{Pointer: "/role", Detail: "a role expected"})
	}
	if slices.ContainsFunc(p.Sources, func(s string) bool { return !dlq.ValidSourceName(s) }) {
		faults = append(faults, dlq.Fault{Pointer: "/sources", Detail: "names of sources with commas between expected"})
	}
	return faults
}

// userChange is POST /settings/users/{id}: role and sources.
func (h *Handlers) userChange(c echo.Context) error {
	return h.changeUser(c, "Change a role", "Changed. Their sessions ended.", func(p *dlq.Person) []dlq.Fault {
		p.Role, p.Sources = dlq.Role(c.FormValue("role")), sourceList(c.FormValue("sources"))
		return personFaults(*p)
	})
}

// userDisable is POST /settings/users/{id}/disable.
func (h *Handlers) userDisable(c echo.Context) error {
	return h.changeUser(c, "Disable somebody", "Disabled. Their sessions ended; what they did stays.", func(p *dlq.Person) []dlq.Fault {
		p.Disabled = true
		return nil
	})
}

// userEnable is POST /settings/users/{id}/enable.
func (h *Handlers) userEnable(c echo.Context) error {
	return h.changeUser(c, "Enable somebody", "Enabled. They sign in with the password that they had.", func(p *dlq.Person) []dlq.Fault {
		p.Disabled = false
		return nil
	})
}

// changeUser changes an account after the viewer's password.
func (h *Handlers) changeUser(c echo.Context, what, said string, change func(*dlq.Person) []dlq.Fault) error {
	if done, err := h.askPassword(c, what); done || err != nil {
		return err
	}
	ctx := c.Request().Context()
	by, _ := web.ActorOf(c)
	p, err := h.person(c)
	if err != nil {
		return err
	}
	if faults := change(&p); len(faults) > 0 {
		return dlq.Invalid("nothing was changed", faults...)
	}
	flash := web.Flash{Tone: "good", Text: p.Email + ": " + said}
	err = h.Store.ChangePerson(ctx, by, p)
	if dlq.KindOf(err) == dlq.KindConflict {
		_, why := faultsOf(err)
		flash = web.Flash{Tone: "warn", Text: why + " Nothing was changed."}
	} else if err != nil {
		return err
	}
	if err := web.AddFlash(c, flash); err != nil {
		return err
	}
	return web.Redirect(c, "/settings/users")
}

func (h *Handlers) person(c echo.Context) (dlq.Person, error) {
	p, found, err := h.Store.Person(c.Request().Context(), c.Param("id"))
	if err == nil && !found {
		err = dlq.Errorf(dlq.KindNotFound, "there is no such person")
	}
	return p, err
}

// userPassword is POST /settings/users/{id}/password: a new one, shown once.
func (h *Handlers) userPassword(c echo.Context) error {
	if done, err := h.askPassword(c, "Make a new password"); done || err != nil {
		return err
	}
	ctx := c.Request().Context()
	by, _ := web.ActorOf(c)
	p, err := h.person(c)
	if err != nil {
		return err
	}
	password := web.GeneratePassword()
	hash, err := h.Passwords.Hash(ctx, password)
	if err != nil {
		return err
	}
	if err := h.Store.SetPassword(ctx, by, p.ID, hash, false); err != nil {
		return err
	}
	return h.showUsers(c, http.StatusOK, usersFacts{created: createdUser(p.Email, password)})
}

// userSignOut is POST /settings/users/{id}/signout.
func (h *Handlers) userSignOut(c echo.Context) error {
	if done, err := h.askPassword(c, "Sign somebody out"); done || err != nil {
		return err
	}
	ctx := c.Request().Context()
	by, _ := web.ActorOf(c)
	p, err := h.person(c)
	if err != nil {
		return err
	}
	if err := h.Sessions.SignOutEverywhere(ctx, p.ID); err != nil {
		return err
	}
	if err := h.Store.Audit(ctx, by, "person.signed_out_everywhere", nil, "", map[string]any{"person": p.ID}); err != nil {
		return err
	}
	if err := web.AddFlash(c, web.Flash{Tone: "good", Text: p.Email + " is signed out everywhere."}); err != nil {
		return err
	}
	return web.Redirect(c, "/settings/users")
}

// ownPassword is the field of the viewer's password.
const ownPassword = "own_password"

// askPassword lets a change of who may do what pass when the viewer gave their
// password in the last minutes, or gives it with this request. Else it answers
// itself, with a form that holds what was sent and asks for the password; done
// says that it did.
func (h *Handlers) askPassword(c echo.Context, what string) (done bool, err error) {
	if h.Sessions.ConfirmedWithin(c, confirmedFor) {
		return false, nil
	}
	wrong := ""
	if password := c.Request().PostFormValue(ownPassword); password != "" {
		right, err := h.rightPassword(c, password)
		if err != nil {
			return true, err
		}
		if right {
			return false, h.Sessions.Confirm(c)
		}
		wrong = "That is not your password; nothing was done."
	}
	return true, h.showPasswordForm(c, what, wrong)
}

func (h *Handlers) rightPassword(c echo.Context, password string) (bool, error) {
	ctx := c.Request().Context()
	person, _ := web.PersonOf(c)
	if err := h.Throttle.Try(ctx, person.Email, c.RealIP()); err != nil {
		return false, err
	}
	_, hash, _, err := h.Store.PersonByEmail(ctx, person.Email)
	if err != nil {
		return false, err
	}
	match, _, err := h.Passwords.Verify(ctx, hash, password)
	if err != nil || !match {
		return false, err
	}
	return true, h.Throttle.Succeeded(ctx, person.Email, c.RealIP())
}

// showPasswordForm repeats what was sent as hidden fields; none of them is a
// secret, because passwords and tokens are made here.
func (h *Handlers) showPasswordForm(c echo.Context, what, wrong string) error {
	frame, err := h.layout(c, what, "", components.Link{Text: "Settings", Href: "/settings/users"}, components.Link{Text: what})
	if err != nil {
		return err
	}
	form := components.Form{ID: "own-password", CSRF: frame.CSRF, Action: c.Request().URL.Path, Submit: "Go on", Tone: components.Primary, Inputs: []components.Input{
		{Name: ownPassword, Label: "Your password", Kind: components.InputPassword, Required: true, Autofocus: true, Autocomplete: "current-password", Error: wrong}}}
	if err := c.Request().ParseForm(); err != nil {
		return dlq.Errorf(dlq.KindMalformed, "the form could not be read; nothing was done").Because(err)
	}
	sent := c.Request().PostForm
	for _, name := range sortedKeys(sent) {
		if name == web.CSRFField || name == ownPassword || strings.Contains(name, "password") {
			continue
		}
		for _, value := range sent[name] {
			form.Fields = append(form.Fields, components.Field{Name: name, Value: value})
		}
	}
	m := confirm.Model{Layout: frame, Title: what, Lead: "You gave your password more than five minutes ago. Give it again: this changes who may do what.", Form: &form, Cancel: components.Link{Text: "Do nothing", Href: "/settings/users"}}
	return web.RenderPage(c, http.StatusOK, confirm.Page(m), confirm.Region(m))
}
