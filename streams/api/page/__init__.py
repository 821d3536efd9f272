"""The page that `outbox api` serves at `/`, for people who would rather look than read.

files.py      what is served, and how: its types, tags and Content-Security-Policy
index.html    the frame of the page: landmarks, navigation, and nothing that moves
*.css, *.js   plain style sheets and ES modules, served as they stand here: no build, no framework, nothing from outside
views/        one module a view

main.js is where it begins: it reads the address (`router.js`), and shows a view in the frame. A view fetches over
`api.js`, again and again by `polling.js`, and describes what is to be seen with `dom.js`; `morph.js` brings what is
seen to that with as few changes as it takes, so that focus, scrolling and what somebody types stay. `format.js` and
`time_axis.js` compute, and know no document.

All that the API says is hostile text: it becomes text nodes and never markup, and the policy refuses the rest.
"""
