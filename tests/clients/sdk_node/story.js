// One merchant's story with the official Stripe SDK for Node, unmodified, against the running
// service. Prints a line per step; the first thing that is not as it should be ends it with 1.
//
// Environment: SERVICE_URL STRICT_URL SECRET_KEY READ_ONLY_KEY, in RECEIVER_PORT where it may take
// webhooks, in SIGNATURES the path of docs/webhook-signatures.json, and in MISTAKES that of mistakes.json

import assert from "node:assert/strict";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import Stripe from "stripe";

const { SERVICE_URL, STRICT_URL, SECRET_KEY, READ_ONLY_KEY, RECEIVER_PORT, SIGNATURES, MISTAKES } =
  process.env;

function client(url, key, options = {}) {
  const { hostname: host, port, protocol } = new URL(url);
  return new Stripe(key, { host, port, protocol: protocol.slice(0, -1), ...options });
}

async function refused(call, type) {
  try {
    await call();
  } catch (error) {
    assert.ok(error instanceof type, `${error.constructor.name}: ${error.message}`);
    return error;
  }
  throw new Error(`not refused with ${type.name}`);
}

async function all(pages) {
  const found = [];
  for await (const object of pages) found.push(object);
  return found;
}

const ids = (objects) => objects.map(({ id }) => id);

// What a list has, paged through forwards; backwards it is the same.
async function walked(list, filters = {}) {
  const forwards = await all(list({ limit: 2, ...filters }));
  const oldest = forwards.at(-1).id;
  const backwards = await all(list({ limit: 2, ending_before: oldest, ...filters }));
  assert.deepEqual(ids(backwards), ids(forwards).slice(0, -1).reverse());
  return forwards;
}

const stripe = client(SERVICE_URL, SECRET_KEY);
const errors = Stripe.errors;

const card = (number) => ({
  payment_method_data: {
    type: "card",
    card: { number, exp_month: 12, exp_year: 2040, cvc: "123" },
    billing_details: {
      name: "Ayşe Yılmaz",
      email: "ayse@example.com",
      address: { line1: "İstiklal Cd. 1", city: "İstanbul", country: "TR" },
    },
  },
});
const GOOD = card("4242424242424242");
const DECLINED = card("4000000000000002");
const LOST = card("4000000000009987");
const MONEY = { amount: 12500, currency: "try" };

// As Stripe's quickstart makes a session.
const session = (more = {}) => ({
  line_items: [
    { price_data: { currency: "try", unit_amount: 2000, product_data: { name: "T-shirt" } }, quantity: 2 },
  ],
  mode: "payment",
  success_url: "https://acme.example/thanks?session={CHECKOUT_SESSION_ID}",
  ...more,
});

const steps = {
  async "a payment in one call"() {
    const metadata = { order: "6735", gift: "true", 0: "first" };
    const paid = await stripe.paymentIntents.create({
      ...MONEY,
      ...GOOD,
      confirm: true,
      description: "12345",
      metadata,
      line_items: [
        { name: "Tea glass", unit_amount: 6000, quantity: 2 },
        { name: "Spoon", unit_amount: 500 },
      ],
    });
    assert.equal(paid.status, "succeeded");
    assert.equal(paid.description, "12345");
    assert.deepEqual(paid.metadata, metadata);
    assert.equal(paid.line_items.length, 2);
  },

  async "create, update, confirm, capture, retrieve"() {
    const made = await stripe.paymentIntents.create({
      ...MONEY,
      capture_method: "manual",
      metadata: { a: "1", b: "2" },
    });
    const changed = await stripe.paymentIntents.update(made.id, {
      amount: 6000,
      description: "tea",
      metadata: { a: "" },
    });
    const held = await stripe.paymentIntents.confirm(made.id, GOOD);
    const taken = await stripe.paymentIntents.capture(made.id, { amount_to_capture: 2500 });
    const read = await stripe.paymentIntents.retrieve(made.id);
    assert.equal(changed.description, "tea");
    assert.deepEqual(changed.metadata, { b: "2" });
    assert.equal(held.status, "requires_capture");
    assert.equal(taken.amount_received, 2500);
    assert.deepEqual(read, taken);
  },

  async "cancel"() {
    const made = await stripe.paymentIntents.create(MONEY);
    const gone = await stripe.paymentIntents.cancel(made.id, { cancellation_reason: "duplicate" });
    assert.equal(gone.status, "canceled");
    assert.equal(gone.cancellation_reason, "duplicate");
  },

  async "a decline is an answer"() {
    const declined = await stripe.paymentIntents.create({ ...MONEY, ...DECLINED, confirm: true });
    assert.equal(declined.status, "requires_payment_method");
    assert.equal(declined.last_payment_error.decline_code, "generic_decline");
    const again = await stripe.paymentIntents.confirm(declined.id, LOST);
    assert.equal(again.status, "requires_payment_method");
    assert.equal(again.last_payment_error.reason, "lost_card");
    const paid = await stripe.paymentIntents.confirm(declined.id, GOOD);
    assert.equal(paid.status, "succeeded");
  },

  async "three-d secure"() {
    const sent = await stripe.paymentIntents.create({
      ...MONEY,
      ...GOOD,
      confirm: true,
      return_url: "https://acme.example/return",
      payment_method_options: { card: { three_d_secure: "required" } },
    });
    assert.equal(sent.status, "requires_action");
    assert.match(sent.next_action.redirect_to_url.url, /^http/);
  },

  async "refunds"() {
    const paid = await stripe.paymentIntents.create({ ...MONEY, ...GOOD, confirm: true });
    const payment_intent = paid.id;
    const part = await stripe.refunds.create({ payment_intent, amount: 4000, reason: "duplicate" });
    const rest = await stripe.refunds.create({ payment_intent });
    assert.deepEqual([part.status, part.amount], ["succeeded", 4000]);
    assert.deepEqual([rest.status, rest.amount], ["succeeded", 8500]);
    const changed = await stripe.refunds.update(part.id, { metadata: { return: "12" } });
    assert.deepEqual(changed, await stripe.refunds.retrieve(part.id));
    const shown = await stripe.refunds.retrieve(part.id, { expand: ["payment_intent"] });
    assert.equal(shown.payment_intent.amount_refundable, 0);
    const found = await walked((more) => stripe.refunds.list(more), { payment_intent });
    assert.deepEqual(ids(found), [rest.id, part.id]);
    const again = await refused(
      () => stripe.refunds.create({ payment_intent }),
      errors.StripeInvalidRequestError,
    );
    assert.equal(again.code, "payment_already_refunded");
    const late = await refused(
      () => stripe.refunds.cancel(part.id),
      errors.StripeInvalidRequestError,
    );
    assert.equal(late.code, "refund_unexpected_state");
  },

  async "customers"() {
    const email = "three@example.com";
    const made = [];
    for (const name of ["Ada", "Grace", "Ayşe"]) {
      made.unshift((await stripe.customers.create({ email, name })).id);
    }
    const address = { line1: "İstiklal Cd. 1", city: "İstanbul", country: "TR" };
    const moved = await stripe.customers.update(made[0], { address, metadata: { tier: "gold" } });
    assert.deepEqual(moved, await stripe.customers.retrieve(made[0]));
    assert.equal(moved.address.city, "İstanbul");
    assert.deepEqual(moved.metadata, { tier: "gold" });
    assert.deepEqual(ids(await walked((more) => stripe.customers.list(more), { email })), made);
    const gone = await stripe.customers.del(made[0]);
    assert.equal(gone.deleted, true);
    assert.equal((await stripe.customers.retrieve(made[0])).deleted, true);
    assert.deepEqual(ids((await stripe.customers.list({ email })).data), made.slice(1));
  },

  async "disputes"() {
    const [open, other] = await walked((more) => stripe.disputes.list(more));
    assert.deepEqual(await stripe.disputes.retrieve(open.id), open);
    const evidence = { customer_name: "Ayşe", service_date: "" };
    const sent = await stripe.disputes.update(open.id, { evidence, submit: true });
    assert.deepEqual([sent.status, sent.evidence.customer_name], ["under_review", "Ayşe"]);
    assert.equal((await stripe.disputes.close(other.id)).status, "lost");
    const error = await refused(
      () => stripe.disputes.close(other.id),
      errors.StripeInvalidRequestError,
    );
    assert.equal(error.code, "dispute_unexpected_state");
  },

  async "customers and expansion"() {
    const customer = await stripe.customers.create({ name: "Ayşe", email: "ayse@example.com" });
    const made = await stripe.paymentIntents.create({
      ...MONEY,
      customer: customer.id,
      expand: ["customer"],
    });
    const read = await stripe.paymentIntents.retrieve(made.id, { expand: ["customer"] });
    assert.deepEqual(made.customer, await stripe.customers.retrieve(customer.id));
    assert.deepEqual(read.customer, made.customer);
    for (const expand of [["data.customer"], ["customer"]]) {
      const listed = await all(stripe.paymentIntents.list({ customer: customer.id, expand }));
      assert.deepEqual(listed.map((payment) => payment.customer), [customer]);
    }
  },

  async "events, listed, paged both ways and read"() {
    const made = [];
    for (const n of [1, 2, 3]) made.push((await stripe.customers.create({ name: `${n}` })).id);
    const newest = await stripe.events.list({ limit: 2 });
    const found = await walked((more) => stripe.events.list(more));
    const told = found.map((event) => event.data.object.id).filter((id) => made.includes(id));
    assert.deepEqual(await stripe.events.retrieve(newest.data[0].id), newest.data[0]);
    assert.deepEqual(told, made.reverse());
  },

  async "the balance, and what changed it, paged both ways"() {
    const made = [];
    for (const amount of [4001, 4002, 4003]) {
      made.push((await stripe.paymentIntents.create({ ...MONEY, ...GOOD, amount, confirm: true })).id);
    }
    const balance = await stripe.balance.retrieve();
    const currencies = (rows) => rows.map(({ currency }) => currency);
    assert.deepEqual(currencies(balance.pending), currencies(balance.available));
    const list = (more) => stripe.balanceTransactions.list({ type: "charge", ...more });
    const charges = (await walked(list)).filter(({ source }) => made.includes(source));
    assert.deepEqual(charges.map(({ source }) => source), made.reverse());
    const [newest] = (await stripe.balanceTransactions.list({ source: made[0] })).data;
    assert.deepEqual(await stripe.balanceTransactions.retrieve(newest.id), newest);
    assert.deepEqual([newest.amount, newest.net, newest.status], [4003, 4003 - newest.fee, "pending"]);
  },

  async "payments, paged both ways"() {
    const amount = 779;
    const made = [];
    for (const _ of [1, 2, 3, 4, 5]) {
      made.unshift((await stripe.paymentIntents.create({ ...MONEY, amount })).id);
      await stripe.paymentIntents.create(MONEY);
    }
    const found = await walked((more) => stripe.paymentIntents.list(more), { amount });
    assert.deepEqual(ids(found), made);
    const [newest] = await stripe.paymentIntents.list({ amount }).autoPagingToArray({ limit: 1 });
    assert.equal(newest.id, made[0]);
  },

  async "a list, filtered, sorted and counted"() {
    const found = await stripe.paymentIntents.list({
      created: { gte: 1 },
      amount: { gte: 779, lt: 780 },
      status: ["requires_payment_method", "canceled"],
      sort: "created",
      include: ["total_count"],
    });
    assert.equal(found.data.length, 5);
    assert.equal(found.total_count, 5);
  },

  async "checkout sessions"() {
    const { id: customer } = await stripe.customers.create({ name: "Ayşe" });
    const made = [];
    for (const order of ["7001", "7002", "7003"]) {
      const terms = session({ customer, client_reference_id: order });
      made.unshift(await stripe.checkout.sessions.create(terms));
    }
    const [newest, second, first] = made;
    assert.deepEqual([first.amount_total, first.status, first.payment_status], [4000, "open", "unpaid"]);
    assert.match(first.url, /^http.*\/pay\/cs_/);
    await stripe.paymentIntents.confirm(first.payment_intent, GOOD);
    const read = await stripe.checkout.sessions.retrieve(first.id, {
      expand: ["payment_intent", "line_items"],
    });
    assert.deepEqual([read.status, read.payment_status], ["complete", "paid"]);
    assert.equal(read.payment_intent.status, "succeeded");
    assert.deepEqual(read.line_items.data.map(({ name, quantity }) => [name, quantity]), [["T-shirt", 2]]);
    const lines = await all(stripe.checkout.sessions.listLineItems(first.id, { limit: 1 }));
    assert.deepEqual(lines, read.line_items.data);
    const ended = await stripe.checkout.sessions.expire(second.id);
    assert.deepEqual([ended.status, ended.expiration_reason, ended.url], ["expired", "api", null]);
    const changed = await stripe.checkout.sessions.update(newest.id, { metadata: { order: "7" } });
    assert.deepEqual(changed, await stripe.checkout.sessions.retrieve(newest.id));
    const found = await walked((more) => stripe.checkout.sessions.list(more), { customer });
    assert.deepEqual(ids(found), ids(made));
    const error = await refused(
      () => stripe.checkout.sessions.create(session({ locale: "de" })),
      errors.StripeInvalidRequestError,
    );
    assert.deepEqual([error.code, error.param], ["parameter_invalid", "locale"]);
  },

  async "a checkout session that was paid, by its webhook"() {
    const server = createServer().listen(RECEIVER_PORT, "127.0.0.1");
    const endpoint = await stripe.webhookEndpoints.create({
      url: `http://127.0.0.1:${RECEIVER_PORT}/hooks`,
      enabled_events: ["checkout.session.completed"],
    });
    const made = await stripe.checkout.sessions.create(session());
    const hook = once(server, "request"); // it may come before the answer to what caused it
    await stripe.paymentIntents.confirm(made.payment_intent, GOOD);
    const [request, response] = await hook;
    const body = Buffer.concat(await all(request));
    response.end();
    server.close();
    await stripe.webhookEndpoints.del(endpoint.id);

    const signature = request.headers["pf-signature"];
    const event = stripe.webhooks.constructEvent(body, signature, endpoint.secret);
    assert.equal(event.type, "checkout.session.completed");
    assert.deepEqual(event.data.object, await stripe.checkout.sessions.retrieve(made.id));
    assert.equal(event.data.object.payment_status, "paid");
  },

  async "webhook endpoints"() {
    const made = await stripe.webhookEndpoints.create({
      url: "https://acme.example/hooks",
      enabled_events: ["payment_intent.succeeded", "payment_intent.canceled"],
    });
    const changed = await stripe.webhookEndpoints.update(made.id, {
      enabled_events: ["*"],
      disabled: true,
    });
    const read = await stripe.webhookEndpoints.retrieve(made.id);
    const listed = await walked((more) => stripe.webhookEndpoints.list(more));
    const gone = await stripe.webhookEndpoints.del(made.id);
    assert.match(made.secret, /^whsec_/);
    assert.equal(made.enabled_events.length, 2);
    assert.deepEqual([changed.status, changed.enabled_events], ["disabled", ["*"]]);
    assert.deepEqual([read, listed], [changed, [changed]]);
    assert.equal(gone.deleted, true);
  },

  async "a webhook that was delivered"() {
    const server = createServer().listen(RECEIVER_PORT, "127.0.0.1");
    const endpoint = await stripe.webhookEndpoints.create({
      url: `http://127.0.0.1:${RECEIVER_PORT}/hooks`,
      enabled_events: ["customer.created"],
    });
    const hook = once(server, "request"); // it may come before the answer to what caused it
    const customer = await stripe.customers.create({ name: "Ayşe Yılmaz" });
    const [request, response] = await hook;
    const body = Buffer.concat(await all(request));
    response.end();
    server.close();
    await stripe.webhookEndpoints.del(endpoint.id);

    const signature = request.headers["pf-signature"];
    const event = stripe.webhooks.constructEvent(body, signature, endpoint.secret);
    assert.deepEqual(event.data.object, customer);
    assert.deepEqual(event, await stripe.events.retrieve(event.id));
    assert.throws(
      () => stripe.webhooks.constructEvent(`${body} `, signature, endpoint.secret),
      errors.StripeSignatureVerificationError,
    );
  },

  async "webhook signatures"() {
    const { secret, body, now, headers } = JSON.parse(await readFile(SIGNATURES));
    const isTaken = (header) => {
      try {
        return stripe.webhooks.constructEvent(body, header, secret, 300, undefined, now * 1000);
      } catch {
        return false;
      }
    };
    const others = headers.filter((vector) => Boolean(isTaken(vector.header)) !== vector.is_genuine);
    // Of those that we refuse, the SDK takes the one from the future.
    assert.deepEqual(others.map(({ what }) => what), ["301 seconds ahead"]);
  },

  async "an invalid request"() {
    const zero = { ...MONEY, amount: 0 };
    const error = await refused(
      () => stripe.paymentIntents.create(zero),
      errors.StripeInvalidRequestError,
    );
    assert.deepEqual([error.statusCode, error.code], [400, "amount_too_small"]);
    assert.equal(error.param, "amount");
    assert.match(error.requestId, /^req_/);
    const missing = await refused(
      () => stripe.paymentIntents.retrieve("pi_nobody"),
      errors.StripeInvalidRequestError,
    );
    assert.deepEqual([missing.statusCode, missing.code], [404, "resource_missing"]);
    const charges = await refused(
      () => stripe.paymentIntents.list({ expand: ["data.charges"] }),
      errors.StripeInvalidRequestError,
    );
    assert.equal(charges.param, "expand[]");
  },

  async "mistakes, told by the exception alone"() {
    const mistakes = JSON.parse(await readFile(MISTAKES)).filter(({ sdk }) => sdk);
    for (const { call, body, message } of mistakes) {
      const [method, path] = call.split(" ");
      const error = await refused(
        () => stripe.rawRequest(method, path, body ?? undefined),
        errors.StripeInvalidRequestError,
      );
      assert.equal(error.message, message);
      console.log(`${error.type}: ${error.message}`);
    }
    assert.ok(mistakes.length >= 20);
  },

  async "a state that refuses"() {
    const made = await stripe.paymentIntents.create(MONEY);
    const error = await refused(
      () => stripe.paymentIntents.capture(made.id),
      errors.StripeInvalidRequestError,
    );
    assert.equal(error.code, "payment_intent_unexpected_state");
    assert.equal(error.payment_intent.id, made.id);
  },

  async "a service that is not there"() {
    const nowhere = client("http://127.0.0.1:1", SECRET_KEY, { maxNetworkRetries: 0 });
    await refused(() => nowhere.events.list(), errors.StripeConnectionError);
  },

  async "a wrong key"() {
    const stranger = client(SERVICE_URL, "sk_sandbox_nobody");
    const error = await refused(
      () => stranger.events.list(),
      errors.StripeAuthenticationError,
    );
    assert.equal(error.code, "api_key_invalid");
  },

  async "a key that may only read"() {
    const reader = client(SERVICE_URL, READ_ONLY_KEY);
    const error = await refused(
      () => reader.customers.create({ name: "Ada" }),
      errors.StripePermissionError,
    );
    assert.equal(error.code, "permission_denied");
  },

  async "too many requests"() {
    const hasty = client(STRICT_URL, SECRET_KEY, { maxNetworkRetries: 0 });
    const often = () => Promise.all([1, 2, 3, 4].map(() => hasty.events.list({ limit: 1 })));
    const error = await refused(often, errors.StripeRateLimitError);
    assert.equal(error.code, "rate_limit");
  },

  async "idempotency"() {
    const idempotencyKey = "node order 6735";
    const first = await stripe.customers.create({ name: "Ada" }, { idempotencyKey });
    const again = await stripe.customers.create({ name: "Ada" }, { idempotencyKey });
    assert.deepEqual(again, first);
    assert.equal(again.lastResponse.headers["original-request"], first.lastResponse.requestId);
    const error = await refused(
      () => stripe.customers.create({ name: "Grace" }, { idempotencyKey }),
      errors.StripeIdempotencyError,
    );
    assert.equal(error.code, "idempotency_key_reused");
  },

  async "headers"() {
    const made = await stripe.customers.create({ name: "Ada" }, { apiVersion: "2024-06-20" });
    assert.match(made.lastResponse.requestId, /^req_/);
    assert.equal(made.lastResponse.headers["pf-version"], "2026-11-01");
  },
};

for (const [name, step] of Object.entries(steps)) {
  await step();
  console.log(`ok ${name}`);
}
console.log(`${Object.keys(steps).length} steps`);
