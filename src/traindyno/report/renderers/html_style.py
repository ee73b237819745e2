"""The look of the HTML report: light and dark, on paper and on a narrow screen, without a single request."""

STYLE = """
:root { color-scheme: light dark;
  --ink: #1f2933; --soft: #5f6b76; --page: #f6f8fa; --card: #ffffff; --line: #dde3e9; --code: #f0f3f6;
  --accent: #00694f; --accent-soft: #e3f4ee; --bad: #b23c00; --bad-soft: #fdf0e9; --warn: #7a5600;
  --warn-soft: #fdf6e0; --bar: rgba(0, 114, 178, .16); }
@media (prefers-color-scheme: dark) { :root {
  --ink: #e4e9ee; --soft: #9aa7b3; --page: #12171c; --card: #1a2128; --line: #303a44; --code: #232c35;
  --accent: #5fd3ae; --accent-soft: #15332a; --bad: #ff9b6b; --bad-soft: #3a2115; --warn: #f0c75e;
  --warn-soft: #332a10; --bar: rgba(86, 180, 233, .25); } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--page); color: var(--ink);
  font: 16px/1.55 system-ui, -apple-system, "Segoe UI", Roboto, "Liberation Sans", Arial, sans-serif; }
main { max-width: 60rem; margin: 0 auto; padding: 1.5rem 1rem 4rem; }
h1 { font-size: 1.55rem; line-height: 1.25; margin: .4rem 0 .2rem; overflow-wrap: anywhere; }
h2 { font-size: 1.15rem; margin: 2.4rem 0 .7rem; }
h3 { font-size: 1rem; margin: 1.2rem 0 .4rem; overflow-wrap: anywhere; }
p { margin: .5rem 0; overflow-wrap: anywhere; }
ul { margin: .5rem 0; padding-left: 1.3rem; }
li { overflow-wrap: anywhere; margin: .2rem 0; }
.soft { color: var(--soft); font-size: .9rem; }
.card { background: var(--card); border: 1px solid var(--line); border-radius: 10px; padding: 1.1rem 1.25rem;
  margin: 1rem 0; }
.answer { border-left: 5px solid var(--accent); }
.figure { font-size: 3rem; line-height: 1; font-weight: 700; color: var(--accent); }
.figure.plain { color: var(--soft); }
.label { color: var(--soft); margin: .3rem 0 0; }
.beside { display: flex; flex-wrap: wrap; gap: .7rem 2.2rem; margin: 1.1rem 0; }
.beside div { min-width: 7rem; }
.beside dd { font-weight: 600; }
dt { color: var(--soft); font-size: .85rem; }
dd { margin: 0; overflow-wrap: anywhere; }
.grid { display: grid; grid-template-columns: repeat(auto-fill, minmax(13rem, 1fr)); gap: .8rem 1.5rem; }
.conclusion { margin: .2rem 0; }
.conclusion.first { font-weight: 650; font-size: 1.08rem; }
.banner, .warnings { border-radius: 10px; padding: .8rem 1.1rem; margin: 1rem 0; overflow-wrap: anywhere; }
.banner { background: var(--bad-soft); color: var(--bad); border: 2px solid var(--bad); font-weight: 600; }
.banner strong { font-size: 1.1rem; letter-spacing: .02em; }
.banner ul { font-weight: 400; }
.warnings { background: var(--warn-soft); color: var(--warn); border: 1px solid currentColor; }
pre { background: var(--code); border-radius: 8px; padding: .8rem 1rem; margin: .5rem 0; overflow-x: auto;
  max-height: 28rem; tab-size: 4;
  font: .84rem/1.5 ui-monospace, "SF Mono", Menlo, Consolas, "Liberation Mono", monospace; }
pre.wraps { white-space: pre-wrap; overflow-wrap: anywhere; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; font-size: .93rem; }
th, td { padding: .36rem .7rem; text-align: left; border-bottom: 1px solid var(--line); vertical-align: top; }
th { font-weight: 600; color: var(--soft); font-size: .84rem; vertical-align: bottom; }
th small { display: block; font-weight: 400; }
td.right, th.right { text-align: right; }
td.right { white-space: nowrap; }
tr.chosen td { background-color: var(--accent-soft); font-weight: 650; }
tr.good td { font-weight: 600; }
tr.bad td { color: var(--bad); background-color: var(--bad-soft); }
tr.bad.open td { border-bottom: 0; }
.trials > table > tbody > tr > td { white-space: nowrap; }
.trials > table > tbody > tr:not(.evidence) > td:nth-child(2) { white-space: normal; min-width: 15rem; }
.trials > table > tbody > tr.evidence > td { white-space: normal; padding-top: 0; }
.evidence > td > details { position: sticky; left: .7rem; max-width: min(56rem, 100vw - 4rem); }
table.facts th { width: 9rem; font-weight: 400; font-size: .93rem; vertical-align: top; }
table.facts { table-layout: fixed; }
table.facts th, table.facts td { overflow-wrap: anywhere; }
details { margin: .4rem 0; }
summary { cursor: pointer; overflow-wrap: anywhere; }
summary:hover { color: var(--accent); }
.chart { background: #ffffff; border: 1px solid var(--line); border-radius: 10px; padding: .5rem;
  overflow-x: auto; }
.chart svg { display: block; width: 100%; min-width: 34rem; height: auto; max-width: 50rem; margin: 0 auto;
  overflow: visible; }
@media (max-width: 32rem) { main { padding: 1rem .75rem 3rem; } th, td { padding: .32rem .45rem; }
  table.facts th { width: 6rem; } .figure { font-size: 2.5rem; } .card { padding: .9rem; }
  .grid { grid-template-columns: repeat(auto-fill, minmax(8.5rem, 1fr)); } }
@media print { :root { --page: #fff; --card: #fff; } body { font-size: 10.5pt; }
  main { max-width: none; padding: 0; } h2 { break-after: avoid; }
  .card, .chart, .banner, .warnings, tr { break-inside: avoid; }
  pre { max-height: none; white-space: pre-wrap; overflow-wrap: anywhere; }
  .scroll, .chart { overflow: visible; } .chart svg { min-width: 0; } }
"""
